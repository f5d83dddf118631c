//! Token bank fair queueing.

use super::{Candidates, Domain, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use crate::phy::Cqi;
use crate::settings::Bearer;
use airwnd_catalog::params;
use airwnd_units::{BitRate, Bytes, Tti};

params! {
    /// Token bank fair queueing: users are served by what they have left to others, in tokens.
    ///
    /// A user's tokens, one for each byte, come at a rate r. They fill its pool, and what overflows goes into a bank
    /// that all share; a user draws on its pool first and on the bank then. E counts what it gave to the bank less
    /// what it took. The highest E / r goes first, of equals the lower RNTI. In the time domain it gets the whole
    /// TTI. In the frequency domain it gets groups, its best first, while its tokens pay for the whole block and
    /// data waits; what it may draw from the bank is E - `debt_limit`, at most `credit_limit`; then the next
    /// user's turn comes. What nobody has tokens for stays empty, so that r is a limit as well.
    ///
    /// r is the bearer's maximum bit rate (`mbr`), else its guaranteed one (`gbr`), else `token_rate`. Users with
    /// equal r and always something to send get equal throughput; a user with more r gets more. A TTI brings whole
    /// bytes, rounded down.
    pub struct Params ("Wong, Tang and Leung, International Journal of Communication Systems 17, 2004; Bokhari et al., EURASIP Journal on Wireless Communications and Networking, 2009; ns-3 fdtbfq-ff-mac-scheduler.cc and tdtbfq-ff-mac-scheduler.cc") {
        /// Whether groups or whole TTIs are given away.
        pub domain: Domain = Domain::Frequency, unit "word", source "ns-3 FdTbfqFfMacScheduler and TdTbfqFfMacScheduler";
        /// Rate of the tokens of a bearer without a rate; none: an equal share of what the carrier carries at CQI 15.
        /// Zero is what ns-3 LENA gives such bearers: nobody can pay in the frequency domain, and in the time domain
        /// all are equal, so that the lowest RNTI is served alone.
        pub token_rate: Option<BitRate> = None, unit "bit/s", range BitRate(0)..=BitRate(10_000_000_000), source "airwnd: the shares of a cell that is full";
        /// Size of a user's pool of tokens.
        pub pool: Bytes = Bytes(1), unit "B", range Bytes(0)..=Bytes(1 << 40), source "ns-3 FdTbfqFfMacScheduler::TokenPoolSize";
        /// The lowest E at which a user may still draw on the bank, below zero by this much (frequency domain).
        pub debt_limit: Bytes = Bytes(625_000), unit "B", range Bytes(0)..=Bytes(1 << 40), source "ns-3 FdTbfqFfMacScheduler::DebtLimit";
        /// The most that a user may draw from the bank in a TTI (frequency domain).
        pub credit_limit: Bytes = Bytes(625_000), unit "B", range Bytes(0)..=Bytes(1 << 40), source "ns-3 FdTbfqFfMacScheduler::CreditLimit";
    }
}

/// The token-bank scheduler.
pub struct Tbfq {
    params: Params,
    grid: Grid,
    accounts: Vec<Account>,
    /// Users in the cell that share the carrier's best rate.
    sharing: u64,
    /// Tokens that anybody may draw.
    bank: i64,
    /// The candidates in the order of their turns: E / r and place. Kept for its capacity.
    turns: Vec<(f64, usize)>,
}

/// A user's tokens, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// What each TTI brings; none: an equal share.
    rate: Option<u64>,
    pool: u64,
    /// Given to the bank less taken from it.
    given: i64,
}

impl Tbfq {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Tbfq { params, grid: grid.clone(), accounts: Vec::new(), sharing: 0, bank: 0, turns: Vec::new() }
    }

    /// What a TTI brings to a user, in bytes.
    fn rate(&self, account: &Account) -> u64 {
        account
            .rate
            .unwrap_or_else(|| self.grid.block(Cqi::MAX, u32::from(self.grid.rbgs)).0 / self.sharing.max(1))
    }

    /// E / r; zero without tokens.
    fn precedence(&self, ue: &UeView) -> f64 {
        let account = &self.accounts[usize::from(ue.slot)];
        let rate = self.rate(account);
        if rate == 0 { 0.0 } else { account.given as f64 / rate as f64 }
    }

    /// Tokens come in.
    fn earn(&mut self, ttis: u64) {
        for slot in 0..self.accounts.len() {
            let rate = self.rate(&self.accounts[slot]);
            let account = &mut self.accounts[slot];
            let tokens = account.pool + rate * ttis;
            account.pool = tokens.min(self.params.pool.0);
            let surplus = (tokens - account.pool) as i64;
            account.given += surplus;
            self.bank += surplus;
        }
    }

    /// What a user can pay for in this TTI.
    fn budget(&self, slot: u16) -> u64 {
        let account = &self.accounts[usize::from(slot)];
        let lendable = account.given.saturating_add_unsigned(self.params.debt_limit.0).max(0) as u64;
        account.pool + lendable.min(self.params.credit_limit.0).min(self.bank.max(0) as u64)
    }

    fn pay(&mut self, slot: u16, block: Bytes) {
        let account = &mut self.accounts[usize::from(slot)];
        let lent = block.0.saturating_sub(account.pool);
        account.pool -= block.0 - lent;
        account.given -= lent as i64;
        self.bank = (self.bank - lent as i64).max(0);
    }

    fn time_domain(&mut self, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let reachable = ues.users.iter().filter(|ue| ues.lowest(ue, free) > Cqi::OUT_OF_RANGE);
        let first = reachable.reduce(
            |first, ue| {
                if self.precedence(ue) > self.precedence(first) { ue } else { first }
            },
        );
        if let Some(ue) = first {
            grants.give(ue.slot, free);
            self.pay(ue.slot, self.grid.block(ues.lowest(ue, free), free.count()));
        }
    }

    fn frequency_domain(&mut self, mut free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        turns.extend((0..).zip(ues.users).map(|(place, ue)| (self.precedence(ue), place)));
        turns.sort_unstable_by(|(one, place), (other, behind)| other.total_cmp(one).then(place.cmp(behind)));
        for (_, place) in &turns {
            if free.is_empty() {
                break;
            }
            let ue = &ues.users[*place];
            let (taken, block) = self.affordable(ue, free, ues);
            if !taken.is_empty() {
                free = free.without(taken);
                grants.give(ue.slot, taken);
                self.pay(ue.slot, block);
            }
        }
        self.turns = turns;
    }

    /// The groups that a user takes, its best first, and the block that they carry.
    fn affordable(&self, ue: &UeView, free: Rbgs, ues: Candidates<'_>) -> (Rbgs, Bytes) {
        let budget = self.budget(ue.slot);
        let (mut taken, mut block) = (Rbgs::default(), Bytes::ZERO);
        //= exception tbfq-sends-the-rest
        while block < ue.queue {
            let left = free.without(taken).iter().filter(|group| ues.subband(ue, *group) > Cqi::OUT_OF_RANGE);
            let Some(best) =
                left.reduce(
                    |best, group| {
                        if ues.subband(ue, group) > ues.subband(ue, best) { group } else { best }
                    },
                )
            else {
                break;
            };
            let more = taken.union(Rbgs::one(best));
            let larger = self.grid.block(ues.lowest(ue, more), more.count());
            if larger.0 > budget {
                break;
            }
            (taken, block) = (more, larger);
        }
        (taken, block)
    }
}

impl Scheduler for Tbfq {
    fn admit(&mut self, slot: u16, bearer: &Bearer) {
        let own = [bearer.mbr, bearer.gbr].into_iter().find(|rate| rate.0 > 0);
        let rate = own.or(self.params.token_rate).map(|rate| rate.0 / 8 / 1000);
        self.sharing += u64::from(rate.is_none());
        settle(&mut self.accounts, slot, Account { rate, ..Account::default() });
        self.turns.reserve(self.accounts.len());
    }

    fn release(&mut self, slot: u16) {
        let account = &mut self.accounts[usize::from(slot)];
        self.sharing -= u64::from(account.rate.is_none());
        *account = Account { rate: Some(0), ..Account::default() };
    }

    //= exception tbfq-no-creditable-threshold
    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.earn(1);
        match self.params.domain {
            Domain::Time => self.time_domain(free, ues, grants),
            Domain::Frequency => self.frequency_domain(free, ues, grants),
        }
    }

    fn on_served(&mut self, _served: &[(u16, Bytes)]) {}

    fn on_idle(&mut self, ttis: u64) {
        self.earn(ttis);
    }

    fn link_adaptation(&self) -> LinkAdaptation {
        LinkAdaptation::LowestSubband
    }
}
