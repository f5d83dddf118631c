//! The qlog of an endpoint in memory.

use quinn_proto::{QlogConfig, QlogStream};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// Start of a record (RFC 7464 §2.2).
const RECORD: char = '\u{1e}';

/// Records that quinn has written and the owner has not taken.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The stream of a configuration, whose header is not kept.
    pub fn stream(&self) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        config.writer(Box::new(self.clone()));
        let stream = config.into_stream();
        self.bytes().clear();
        stream
    }

    /// Takes the records.
    pub fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.bytes());
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        text.split(RECORD).map(str::trim).filter(|record| !record.is_empty()).map(String::from).collect()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().expect("no call panics while it holds the lock")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
