//! The server on the loopback interface, with clients that follow the protocol and others.

use super::*;
use crate::measure::client::{Flow, Session, point};
use crate::measure::ping::Pinger;
use crate::measure::protocol::{Answer, Echo, LONGEST, Token, Transfer};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixDatagram;

const LIMITS: Limits = Limits { clients: 4, bytes: 1 << 40 };
/// A test that waits longer has failed.
const HANG: Duration = Duration::from_secs(600);

/// Calls a test while a server runs; fails if the server does not end.
fn serving(address: &str, limits: Limits, test: impl FnOnce(SocketAddr)) {
    let address: SocketAddr = address.parse().unwrap();
    // A machine may have no IPv6.
    if TcpListener::bind(address).is_err() {
        return;
    }
    let server = Server::open(Some(address), limits).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let never = UnixDatagram::unbound().unwrap();
        let running = scope.spawn(|| server.serve(never, || is_over.load(Ordering::Relaxed)));
        // After a failure as well, the server must end for the scope to end.
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(server.address().unwrap())));
        is_over.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap();
        if let Err(failure) = outcome {
            std::panic::resume_unwind(failure);
        }
    });
}

fn session(address: SocketAddr) -> Session {
    Session::open("server", &address.ip().to_string(), address.port()).unwrap()
}

/// Sends bytes and returns all that the server answers until it closes.
fn answer(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    // The server may have closed already.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Runs transfers until each has moved this number of bytes, and returns what the server says of uploads.
fn transfer(session: &Session, ways: &[Transfer], enough: u64) -> Vec<u64> {
    let streams = session.connect(ways.len()).unwrap().into_iter().zip(ways);
    let streams = streams.map(|(stream, way)| (stream, *way, LONGEST)).collect();
    let flows = Flow::begin(streams, session.token).unwrap();
    let is_stopped = AtomicBool::new(false);
    let payload = wire::payload();
    thread::scope(|scope| {
        flows.iter().for_each(|flow| drop(scope.spawn(|| flow.run(&payload, &is_stopped))));
        let has_enough = |way| !ways.contains(&way) || point(&flows, way, 0.0).bytes >= enough;
        while !(has_enough(Transfer::Download) && has_enough(Transfer::Upload)) {
            assert!(!flows.iter().all(Flow::is_ended), "the transfers end early");
            thread::sleep(Duration::from_millis(5));
        }
        is_stopped.store(true, Ordering::Relaxed);
    });
    flows.into_iter().filter_map(Flow::end).collect()
}

#[test]
fn a_client_downloads_uploads_and_pings() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        serving(address, LIMITS, |address| {
            let session = session(address);
            let pinger = Pinger::open(address, session.local.ip(), session.token, Instant::now()).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| pinger.run());
                assert!(transfer(&session, &[Transfer::Download; 3], 100_000).is_empty());
                let received = transfer(&session, &[Transfer::Upload, Transfer::Upload], 100_000);
                assert!(received.len() == 2 && received.iter().sum::<u64>() >= 100_000, "{received:?}");
                transfer(&session, &[Transfer::Download, Transfer::Upload], 10_000);
                while pinger.rtts_ms_since(0.0).len() < 5 {
                    thread::sleep(Duration::from_millis(5));
                }
                pinger.stop();
            });
            assert!(pinger.pings().iter().filter_map(|ping| ping.rtt_ms).all(|rtt_ms| rtt_ms >= 0.0));
        });
    }
}

#[test]
fn what_is_not_of_the_protocol_closes_the_connection() {
    serving("127.0.0.1:0", LIMITS, |address| {
        let long = vec![b'a'; 100_000];
        let inputs: [&[u8]; 9] = [
            b"",
            b"\n",
            b"GET / HTTP/1.1\r\nHost: server\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"airwnd-guard-test/1 session",
            b"airwnd-guard-test/2 session\n",
            b"airwnd-guard-test/1 download 0 0\n",
            &[0xff; 4096],
            &long,
        ];
        for input in inputs {
            assert_eq!(answer(address, input), b"", "{input:?}");
        }
        let unknown = Token([7; Token::SIZE]);
        let refused = answer(address, format!("airwnd-guard-test/1 upload {unknown} 5\n").as_bytes());
        let reason = "unknown token".to_string();
        assert_eq!(refused, Answer::Refused { reason }.to_string().as_bytes());
        transfer(&session(address), &[Transfer::Download], 1000);
    });
}

#[test]
fn data_in_a_session_end_it() {
    serving("127.0.0.1:0", LIMITS, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.write_all(b"airwnd-guard-test/1 session\nairwnd").unwrap();
        // The session is closed by a reset, or the answer is read first.
        let _ = stream.read_to_end(&mut Vec::new());
        transfer(&session(address), &[Transfer::Upload], 1000);
    });
}

/// One datagram in, at most one of the same size out; only for the token of a session that exists.
#[test]
fn only_pings_of_a_session_are_answered() {
    serving("127.0.0.1:0", LIMITS, |address| {
        let session = session(address);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(address).unwrap();
        socket.set_read_timeout(Some(HANG)).unwrap();
        let ping = |token, number, is_reply| Echo { is_reply, token, number, held: Duration::ZERO }.encoded();
        let good = ping(session.token, 4, false);
        socket.send(&ping(Token([7; Token::SIZE]), 1, false)).unwrap();
        socket.send(&ping(session.token, 2, true)).unwrap();
        socket.send(&[&good[..], &[0; 1000]].concat()).unwrap();
        socket.send(&good[..63]).unwrap();
        socket.send(&[]).unwrap();
        socket.send(&good).unwrap();
        let mut bytes = [0; 2000];
        let length = socket.recv(&mut bytes).unwrap();
        let reply = Echo::parse(&bytes[..length]).unwrap();
        assert_eq!((reply.number, reply.is_reply, length), (4, true, good.len()));
    });
}

#[test]
fn a_session_has_no_more_than_its_bytes() {
    serving("127.0.0.1:0", Limits { clients: 4, bytes: 100_000 }, |address| {
        let session = session(address);
        let mut stream = session.connect(1).unwrap().remove(0);
        stream.set_read_timeout(Some(HANG)).unwrap();
        writeln!(stream, "airwnd-guard-test/1 download {} 300000", session.token).unwrap();
        let (mut total, mut piece) = (0, [0; 4096]);
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            total += length;
        }
        assert!(total <= 100_000 + Answer::Begin.to_string().len(), "{total}");
    });
}

#[test]
fn more_sessions_than_there_is_room_for_are_refused() {
    serving("127.0.0.1:0", LIMITS, |address| {
        let first = [session(address), session(address)];
        let refused = Session::open("server", "127.0.0.1", address.port()).map(drop);
        let text = refused.unwrap_err().to_string();
        assert_eq!(text, "server server refuses the test: other tests are running");
        drop(first);
        // The server notices the end of the first ones within a step.
        while Session::open("server", "127.0.0.1", address.port()).is_err() {}
    });
}

#[test]
fn strangers_do_not_fill_the_log() {
    let (mut complaints, now) = (Complaints::default(), Instant::now());
    assert_eq!(complaints.line("one", now).as_deref(), Some("one"));
    assert!((0..1000).all(|_| complaints.line("two", now + COMPLAINTS / 2).is_none()));
    let later = complaints.line("three", now + COMPLAINTS);
    assert_eq!(later.as_deref(), Some("three; 1000 other lines were left out"));
}
