//! Token bank fair queueing.

use super::{
    Candidates, Capabilities, Domain, Grants, Grid, LinkAdaptation, PerUe, Properties, Rbgs, Scheduler,
    SecondPass, UeView, settle,
};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use airwnd_catalog::Params;
use airwnd_phy::Cqi;
use airwnd_units::{BitRate, Bytes, Tti};

/// Token bank fair queueing: priority by tokens given to minus taken from a shared bank, relative to the token rate.
///
/// A UE earns tokens, one per byte, at a rate r: the bearer's maximum bit rate (`mbr`), otherwise its guaranteed rate
/// (`gbr`), otherwise `token_rate`. Tokens fill the UE's pool; the overflow goes into a bank that all UEs share. A UE
/// spends its pool first and then draws on the bank. E is the number of tokens it has given to the bank minus those
/// taken. The UE with the highest
///
/// ```math
/// \frac{E}{r}
/// ```
///
/// is served first; ties go to the lower RNTI. In the time domain it gets the whole TTI. In the frequency domain it
/// gets its best RBGs as long as its tokens pay for the whole block and data waits; then the next UE follows. It may
/// draw from the bank what E is above its debt limit, at most `credit_limit`. RBGs for which no UE has tokens stay
/// unused, so r is also an upper limit.
///
/// Backlogged UEs with equal r get equal throughput. With different r, backlogged UEs in the time domain get throughput
/// in proportion to r. Each millisecond adds whole bytes of tokens, rounded down; in NR they are earned in the slots in
/// which the cell can decide.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Wong, Tang, Leung: Token Bank Fair Queuing: A New Scheduling Algorithm for Wireless \
              Multimedia Services, Int. J. Communication Systems 17, 2004; Bokhari, Yanikomeroglu, Wong, \
              Rahman: Cross-Layer Resource Scheduling for Video Traffic in the Downlink of OFDMA-Based \
              Wireless 4G Networks, EURASIP J. Wireless Communications and Networking 2009; ns-3 \
              fdtbfq-ff-mac-scheduler.cc and tdtbfq-ff-mac-scheduler.cc")]
pub struct Params {
    /// Scheduling domain: RBGs or whole TTIs.
    #[param(basic, default = Domain::Frequency)]
    #[param(unit = "word", source = "ns-3 FdTbfqFfMacScheduler and TdTbfqFfMacScheduler")]
    pub domain: Domain,
    /// Token rate of a bearer without a rate; `none`: no limit, the UEs share equally the capacity left by bearers with
    /// a rate. Zero is the value of ns-3 LENA: in the frequency domain no such UE can pay, and in the time domain all
    /// have equal priority, so that only the lowest RNTI is served.
    #[param(basic, default = None, range = BitRate(0)..=BitRate(10_000_000_000))]
    #[param(
        unit = "bit/s",
        source = "TS 23.203 §6.1.7: bearers without guaranteed rates have no separate limit"
    )]
    pub token_rate: Option<BitRate>,
    /// Size of a UE's token pool.
    #[param(default = Bytes(1), range = Bytes(0)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 FdTbfqFfMacScheduler::TokenPoolSize")]
    pub pool: Bytes,
    /// Debt limit: a UE can draw on the bank while E is above minus this value (frequency domain).
    #[param(default = Bytes(625_000), range = Bytes(0)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 FdTbfqFfMacScheduler::DebtLimit")]
    pub debt_limit: Bytes,
    /// Credit limit: maximum that a UE can draw from the bank in a TTI (frequency domain).
    #[param(default = Bytes(625_000), range = Bytes(0)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "ns-3 FdTbfqFfMacScheduler::CreditLimit")]
    pub credit_limit: Bytes,
}

/// The token-bank scheduler.
pub struct Tbfq {
    params: Params,
    grid: Grid,
    accounts: Vec<Account>,
    /// Tokens that all UEs can draw.
    bank: u64,
    /// The candidates in order of precedence: E / r and index. Kept for its capacity.
    turns: Vec<(f64, usize)>,
}

/// Token account of a UE, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Tokens earned per millisecond.
    rate: u64,
    /// Part of a token that is earned but not yet added, times the decisions per second.
    rest: u64,
    /// Whether its spending is limited by its pool and the bank.
    limited: bool,
    pool: u64,
    /// E: tokens given to the bank minus those taken.
    given: i64,
}

impl Tbfq {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Tbfq { params, grid: grid.clone(), accounts: Vec::new(), bank: 0, turns: Vec::new() }
    }

    /// E / r; zero if r is zero.
    fn precedence(&self, ue: &UeView) -> f64 {
        let account = &self.accounts[ue.slot.index()];
        if account.rate == 0 { 0.0 } else { account.given as f64 / account.rate as f64 }
    }

    /// Adds the tokens earned until these decisions.
    fn earn(&mut self, decisions: u64) {
        let per_second = self.grid.decisions_per_second as u64;
        for account in &mut self.accounts {
            let earned = account.rest + 1000 * account.rate * decisions;
            account.rest = earned % per_second;
            let tokens = account.pool + earned / per_second;
            account.pool = tokens.min(self.params.pool.0);
            let surplus = tokens - account.pool;
            account.given += surplus as i64;
            if account.limited {
                self.bank += surplus;
            }
        }
    }

    /// Maximum block that a UE can pay for with this many tokens in the bank.
    fn budget(&self, slot: UeSlot, bank: u64) -> u64 {
        let account = &self.accounts[slot.index()];
        if !account.limited {
            return u64::MAX;
        }
        let lendable = account.given.saturating_add_unsigned(self.params.debt_limit.0).max(0) as u64;
        account.pool + lendable.min(self.params.credit_limit.0).min(bank)
    }

    /// Tokens for a block that a limited UE draws from the bank.
    fn lent(&self, slot: UeSlot, block: Bytes) -> u64 {
        let account = &self.accounts[slot.index()];
        if account.limited { block.0.saturating_sub(account.pool) } else { 0 }
    }

    fn pay(&mut self, slot: UeSlot, block: Bytes) {
        self.bank = self.bank.saturating_sub(self.lent(slot, block));
        let account = &mut self.accounts[slot.index()];
        let missing = block.0.saturating_sub(account.pool);
        account.pool -= block.0 - missing;
        account.given -= missing as i64;
    }

    fn time_domain(&self, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let reachable = ues.users.iter().filter(|ue| ues.lowest(ue, free) > Cqi::OUT_OF_RANGE);
        let ahead = |ue, first| self.precedence(ue) > self.precedence(first);
        if let Some(ue) = reachable.reduce(|first, ue| if ahead(ue, first) { ue } else { first }) {
            grants.give(ue.slot, free);
        }
    }

    fn frequency_domain(&mut self, mut free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        turns.extend((0..).zip(ues.users).map(|(place, ue)| (self.precedence(ue), place)));
        turns.sort_unstable_by(|(one, place), (other, behind)| other.total_cmp(one).then(place.cmp(behind)));
        let mut bank = self.bank;
        for (_, place) in &turns {
            if free.is_empty() {
                break;
            }
            let ue = &ues.users[*place];
            let (taken, block) = self.affordable(ue, free, bank, ues);
            if !taken.is_empty() {
                free = free.without(taken);
                bank = bank.saturating_sub(self.lent(ue.slot, block));
                grants.give(ue.slot, taken);
            }
        }
        self.turns = turns;
    }

    /// The RBGs that a UE gets, its best first, and the block that they carry.
    fn affordable(&self, ue: &UeView, free: Rbgs, bank: u64, ues: Candidates<'_>) -> (Rbgs, Bytes) {
        let budget = self.budget(ue.slot, bank);
        let (mut taken, mut block) = (Rbgs::default(), Bytes::ZERO);
        // ns-3 grants an RBG only while the block does not exceed the backlog, so the end of a burst can wait
        // indefinitely.
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
            let larger = self.grid.block(ue, ues.lowest(ue, more), more.count());
            if larger.0 > budget {
                break;
            }
            (taken, block) = (more, larger);
        }
        (taken, block)
    }
}

impl Scheduler for Tbfq {
    //= exception tbfq-no-creditable-threshold
    fn allocate(&mut self, tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.earn(1);
        self.allocate_again(tti, free, ues, grants);
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        for (slot, block) in served {
            self.pay(*slot, *block);
        }
    }
}

impl Capabilities for Tbfq {
    fn properties(&self) -> Properties {
        Properties { uses_wideband: false, ..Properties::new(LinkAdaptation::LowestSubband) }
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn second_pass(&mut self) -> Option<&mut dyn SecondPass> {
        Some(self)
    }
}

impl PerUe for Tbfq {
    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        let own = [bearer.mbr, bearer.gbr].into_iter().find(|rate| rate.0 > 0);
        // Of several bearers, those without a rate add the common one.
        let others = if bearer.is_elastic { self.params.token_rate } else { Some(BitRate(0)) };
        let limited = others.is_some();
        let rate = match (own, others) {
            (None, None) => None,
            (own, others) => {
                Some([own, others].into_iter().flatten().map(|rate| rate.0).sum::<u64>() / 8 / 1000)
            }
        };
        // The minimum rate ranks it behind the others.
        let account = Account { rate: rate.unwrap_or(1), limited, ..Account::default() };
        settle(&mut self.accounts, slot, account);
        self.turns.reserve(self.accounts.len());
    }

    fn release(&mut self, slot: UeSlot) {
        self.accounts[slot.index()] = Account::default();
    }

    fn on_idle(&mut self, ttis: u64) {
        self.earn(ttis);
    }
}

impl SecondPass for Tbfq {
    fn allocate_again(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        match self.params.domain {
            Domain::Time => self.time_domain(free, ues, grants),
            Domain::Frequency => self.frequency_domain(free, ues, grants),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::sched::tests::{
        S2, alike, bearer, grants_of, saturate_bearers, saturate_with, scheduler, selective, user,
    };

    fn at_rates(domain: &str, rates: &[u64], ttis: u64) -> Vec<u64> {
        let users: Vec<_> = rates.iter().map(|rate| ((7, 7), bearer(4, *rate))).collect();
        saturate_bearers(scheduler(&format!(r#""kind": "tbfq", "domain": "{domain}""#)), &users, ttis).bytes
    }

    #[test]
    fn equal_token_rates_give_equal_throughput() {
        for domain in ["time", "frequency"] {
            let sent =
                saturate_with(scheduler(&format!(r#""kind": "tbfq", "domain": "{domain}""#)), &S2, 50_000);
            assert!(alike(&sent.bytes, 0.01), "{domain}: {sent:?}");
        }
    }

    #[test]
    fn throughput_is_proportional_to_token_rates() {
        // 349 B per TTI for rates of 100, 200 and 400 B: E / r stays level when bytes are proportional to r
        let bytes = at_rates("time", &[800_000, 1_600_000, 3_200_000], 70_000);
        for (bytes, part) in bytes.iter().zip([1.0, 2.0, 4.0]) {
            let share = 349.0 * 70_000.0 * part / 7.0;
            assert!((*bytes as f64 / share - 1.0).abs() < 0.01, "{bytes} / {share}");
        }
    }

    #[test]
    fn tokens_are_a_limit_in_the_frequency_domain_alone() {
        // 25 B and 50 B of tokens per TTI, of 349 B
        let limited = at_rates("frequency", &[200_000, 400_000], 10_000);
        for (bytes, tokens) in limited.iter().zip([250_000.0, 500_000.0]) {
            assert!((*bytes as f64 / tokens - 1.0).abs() < 0.01, "{limited:?}");
        }
        let all: u64 = at_rates("time", &[200_000, 400_000], 10_000).iter().sum();
        assert_eq!(all, 3_490_000);
    }

    /// Tokens are earned per millisecond, whatever the duration of a slot and the part of slots with downlink data.
    #[test]
    fn tokens_of_a_second_are_the_rate() {
        for (numerology, pattern) in [(0, ""), (1, ""), (2, ""), (3, ""), (1, "DDDSU"), (3, "DSUUU")] {
            let grid = Grid::of(&crate::mac::sched::tests::nr(numerology, pattern));
            let mut tbfq = Tbfq::new(Params { pool: Bytes(1 << 40), ..Params::default() }, &grid);
            // 12 whole bytes per millisecond
            tbfq.admit(UeSlot(0), &bearer(4, 100_000));
            (0..grid.decisions_per_second as u64 - 7).for_each(|_| tbfq.earn(1));
            tbfq.earn(7);
            assert_eq!(tbfq.accounts[0].pool, 12_000, "{numerology} {pattern}");
        }
    }

    #[test]
    fn no_ue_pays_without_tokens() {
        let none = |domain: &str| {
            let settings = format!(r#""kind": "tbfq", "domain": "{domain}", "token_rate": "0bps""#);
            saturate_with(scheduler(&settings), &[(7, 7); 3], 100).blocks
        };
        assert_eq!(none("frequency"), [0; 3]);
        assert_eq!(none("time"), [100, 0, 0]);
    }

    #[test]
    fn a_ue_gets_its_best_rbgs_and_no_more_than_its_backlog() {
        let (mut users, reports) = selective(&[[5, 9, 7]]);
        let mut tbfq = scheduler("tbfq");
        tbfq.admit(UeSlot(0), &Bearer::default());
        tbfq.on_idle(1000);
        // one RBG at CQI 9 carries 75 B; two at CQI 7 carry 97 B
        users[0].queue = Bytes(60);
        assert_eq!(grants_of(&mut *tbfq, &users, &reports), [(0, 0b010)]);
        users[0].queue = Bytes(90);
        assert_eq!(grants_of(&mut *tbfq, &users, &reports), [(0, 0b110)]);
    }

    #[test]
    fn debts_and_credits_are_limited() {
        let params = Params {
            token_rate: Some(BitRate(800_000)),
            debt_limit: Bytes(500),
            credit_limit: Bytes(300),
            ..Params::default()
        };
        let mut tbfq = Tbfq::new(params, &crate::mac::sched::tests::grid());
        (0..11).for_each(|slot| tbfq.admit(UeSlot(slot), &Bearer::default()));
        // 10 TTIs: a pool of 1 B, 999 B given to the bank by each UE
        tbfq.on_idle(10);
        assert_eq!(
            (tbfq.bank, tbfq.accounts[0].given, tbfq.budget(UeSlot(0), tbfq.bank)),
            (11 * 999, 999, 301)
        );
        for paid in [301, 699 + 400] {
            tbfq.pay(UeSlot(0), Bytes(paid));
        }
        // 1 B of the pool, 300 and 1099 B of the bank: 400 B in debt, 100 B left of the limit
        assert_eq!(
            (tbfq.bank, tbfq.accounts[0].given, tbfq.budget(UeSlot(0), tbfq.bank)),
            (11 * 999 - 1399, -400, 100)
        );
        tbfq.pay(UeSlot(0), Bytes(100));
        assert_eq!(tbfq.budget(UeSlot(0), tbfq.bank), 0);
        assert_eq!(tbfq.precedence(&user(0, 7, 7)), -5.0);
    }

    #[test]
    fn an_admitted_ue_has_neither_debts_nor_credit() {
        let params = Params { token_rate: Some(BitRate(800_000)), ..Params::default() };
        let mut tbfq = Tbfq::new(params, &crate::mac::sched::tests::grid());
        tbfq.admit(UeSlot(0), &Bearer::default());
        tbfq.on_idle(100);
        assert_eq!(tbfq.accounts[0].given, 100 * 100 - 1);
        tbfq.release(UeSlot(0));
        tbfq.on_idle(1);
        assert_eq!((tbfq.accounts[0].given, tbfq.bank), (0, 9999));
        tbfq.admit(UeSlot(0), &Bearer::default());
        assert_eq!(tbfq.accounts[0].given, 0);
    }

    #[test]
    fn best_effort_shares_the_capacity_left_by_guaranteed_rates() {
        // 349 B per TTI; 50 B of tokens for the first UE
        let users = [((7, 7), bearer(4, 400_000)), ((7, 7), Bearer::default()), ((7, 7), Bearer::default())];
        let bytes = saturate_bearers(scheduler("tbfq"), &users, 10_000).bytes;
        assert!((bytes[0] as f64 / 500_000.0 - 1.0).abs() < 0.01, "{bytes:?}");
        assert!(alike(&bytes[1..], 0.01), "{bytes:?}");
        // blocks of one or six RBGs carry a little less than one of seven
        assert!(bytes.iter().sum::<u64>() > 3_300_000, "{bytes:?}");
    }

    /// With a GBR bearer of 400 kbit/s and a best-effort bearer, a UE is limited by neither; with two GBR bearers it is
    /// limited by their sum.
    #[test]
    fn a_bearer_without_a_rate_removes_the_limit_of_its_ue() {
        let together = |bearers: &[Bearer]| Bearer::together(bearers.iter().copied());
        let elastic = together(&[Bearer::default(), bearer(4, 400_000)]);
        let both = together(&[bearer(4, 400_000), bearer(1, 400_000)]);
        let users = [((7, 7), elastic), ((7, 7), both)];
        let bytes = saturate_bearers(scheduler("tbfq"), &users, 10_000).bytes;
        // 800 kbit/s for 10 s are 1 MB
        assert!((bytes[1] as f64 / 1e6 - 1.0).abs() < 0.02 && bytes[0] > 2 * bytes[1], "{bytes:?}");
    }
}
