//! One transfer over QUIC by quinn, with a congestion control of quinn.
//!
//! ```sh
//! stacks-quinn server ADDRESS PORT CC CERTIFICATE
//! stacks-quinn client ADDRESS PORT CC CERTIFICATE SECONDS down|up RESULT
//! ```
//!
//! The server writes a new certificate to CERTIFICATE, the client trusts it. The client appends its result to RESULT,
//! a line of JSON with the keys of `tcp.py`. The sender uses CC: `newreno`, `cubic` or `bbr`.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::{Connection, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Name in the certificate, whatever the address.
const NAME: &str = "server";
/// Flow control that never limits the sender, as the kernel's receive buffer of up to 32 MiB.
const WINDOW: u32 = 32 << 20;
/// Data that quinn holds beyond its congestion window, so that a sender ends on time.
const UNSENT: u64 = 128 << 10;
const INTERVAL: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["server", address, port, cc, certificate] => serve(address, port, cc, certificate).await,
        ["client", address, port, cc, certificate, seconds, direction @ ("down" | "up"), result] => {
            transfer(address, port, cc, certificate, seconds, direction, result).await
        }
        _ => Err("usage: stacks-quinn server ADDRESS PORT CC CERTIFICATE, or \
                  client ADDRESS PORT CC CERTIFICATE SECONDS down|up RESULT"
            .into()),
    };
    if let Err(error) = outcome {
        eprintln!("stacks-quinn: {error}");
        std::process::exit(2);
    }
}

async fn serve(address: &str, port: &str, cc: &str, certificate: &str) -> Outcome<()> {
    let made = rcgen::generate_simple_self_signed([NAME.to_string()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = quinn::ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    config.transport_config(transport(cc)?);
    let endpoint = Endpoint::server(config, resolve(address, port)?)?;
    write_atomically(certificate, made.cert.der())?;
    while let Some(incoming) = endpoint.accept().await {
        let cc = cc.to_string();
        tokio::spawn(async move {
            if let Err(error) = answer(incoming, &cc).await {
                eprintln!("stacks-quinn server: {error}");
            }
        });
    }
    Ok(())
}

async fn answer(incoming: quinn::Incoming, cc: &str) -> Outcome<()> {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let request: Value = serde_json::from_slice(&line(&mut receive).await?)?;
    let seconds = request["seconds"].as_f64().ok_or("a request without seconds")?;
    if request["direction"] == "down" {
        produce(&connection, &mut send, cc, seconds).await?;
    } else {
        let result = consume(&mut receive, Instant::now()).await?;
        send.write_all(result.to_string().as_bytes()).await?;
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn transfer(
    address: &str,
    port: &str,
    cc: &str,
    certificate: &str,
    seconds: &str,
    direction: &str,
    result: &str,
) -> Outcome<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(certificate)?))?;
    let mut config = quinn::ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(cc)?);
    let remote = resolve(address, port)?;
    let local: SocketAddr = if remote.is_ipv4() { "0.0.0.0:0".parse()? } else { "[::]:0".parse()? };
    let endpoint = Endpoint::client(local)?;
    let began = Instant::now();
    let connection = endpoint.connect_with(config, remote, NAME)?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    let seconds: f64 = seconds.parse()?;
    send.write_all(format!("{}\n", json!({"direction": direction, "seconds": seconds})).as_bytes()).await?;
    let mut found = json!({"program": "quinn", "cc": cc, "direction": direction});
    let measured = if direction == "down" {
        consume(&mut receive, began).await?
    } else {
        produce(&connection, &mut send, cc, seconds).await?;
        send.finish()?;
        serde_json::from_slice(&receive.read_to_end(1 << 20).await?)?
    };
    if let (Some(all), Value::Object(more)) = (found.as_object_mut(), measured) {
        all.extend(more);
    }
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    let mut file = fs::OpenOptions::new().create(true).append(true).open(result)?;
    writeln!(file, "{found}")?;
    Ok(())
}

/// Sends zeros for some seconds, then a line with the sender's samples.
async fn produce(connection: &Connection, send: &mut SendStream, cc: &str, seconds: f64) -> Outcome<()> {
    let began = Instant::now();
    let zeros = vec![0; 16 << 10];
    let mut samples = Vec::new();
    let mut next = INTERVAL;
    while began.elapsed().as_secs_f64() < seconds {
        connection.set_send_window(connection.stats().path.cwnd + UNSENT);
        // A write waits while `send_window` is full; a sample is due meanwhile.
        tokio::select! {
            written = send.write(&zeros) => { written?; }
            () = tokio::time::sleep(next.saturating_sub(began.elapsed())) => {}
        }
        if began.elapsed() >= next {
            let path = connection.stats().path;
            let rtt_ms = path.rtt.as_secs_f64() * 1e3;
            samples.push(json!([began.elapsed().as_secs_f64(), rtt_ms, path.cwnd, path.lost_packets]));
            next += INTERVAL;
        }
    }
    let path = connection.stats().path;
    let report = json!({"cc": cc, "retransmitted": path.lost_packets, "samples": samples});
    send.write_all(format!("\n{report}\n").as_bytes()).await?;
    Ok(())
}

/// Receives zeros and the sender's line: goodput from the first byte to the last zero.
async fn consume(receive: &mut RecvStream, began: Instant) -> Outcome<Value> {
    let mut first = None;
    let mut last = began;
    let mut bytes = 0usize;
    let mut tail = Vec::new();
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
        first.get_or_insert_with(Instant::now);
        let zeros = if tail.is_empty() {
            chunk.bytes.iter().position(|&byte| byte != 0).unwrap_or(chunk.bytes.len())
        } else {
            0
        };
        bytes += zeros;
        if zeros > 0 {
            last = Instant::now();
        }
        tail.extend_from_slice(&chunk.bytes[zeros..]);
    }
    let first = first.ok_or("the sender sent nothing")?;
    let report: Value = serde_json::from_slice(&tail)?;
    let seconds = (last - first).as_secs_f64();
    Ok(json!({
        "seconds": seconds,
        "bytes": bytes,
        "goodput_kbps": bytes as f64 * 8e-3 / seconds.max(1e-3),
        "first_byte_ms": (first - began).as_secs_f64() * 1e3,
        "retransmitted": report["retransmitted"],
        "samples": report["samples"],
    }))
}

async fn line(receive: &mut RecvStream) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    let mut byte = [0];
    while text.last() != Some(&b'\n') {
        receive.read_exact(&mut byte).await?;
        text.push(byte[0]);
    }
    Ok(text)
}

fn transport(cc: &str) -> Outcome<Arc<TransportConfig>> {
    let mut config = TransportConfig::default();
    match cc {
        "newreno" => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "cubic" => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "bbr" => config.congestion_controller_factory(Arc::new(BbrConfig::default())),
        other => {
            return Err(format!("unknown congestion control `{other}`; there are newreno, cubic, bbr").into());
        }
    };
    config.stream_receive_window(VarInt::from_u32(WINDOW)).receive_window(VarInt::from_u32(WINDOW));
    Ok(Arc::new(config))
}

fn resolve(address: &str, port: &str) -> Outcome<SocketAddr> {
    let found = (address, port.parse()?).to_socket_addrs()?.next();
    found.ok_or_else(|| format!("{address} has no address").into())
}

/// A client that waits for the certificate never reads half of it.
fn write_atomically(path: &str, bytes: &[u8]) -> Outcome<()> {
    let partial = format!("{path}.partial");
    fs::write(&partial, bytes)?;
    fs::rename(partial, path)?;
    Ok(())
}
