//! The stored corpus of the fuzzers (`fuzz/corpus`) as tests.

use airwnd_attack::targets;
use std::fs;
use std::path::Path;

#[test]
fn no_input_of_the_corpus_fails() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in targets::ALL {
        let folder = corpus.join(name);
        let files: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(!files.is_empty(), "{name} has no corpus");
        for file in &files {
            if let Err(what) = target(&fs::read(file).unwrap()) {
                panic!("{}: {what}", file.display());
            }
        }
        println!("{name}: {} inputs", files.len());
    }
}
