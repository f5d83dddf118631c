//! What the fuzzers have found and kept (`fuzz/corpus`), tried again.

use airwnd_attack::targets;
use std::fs;
use std::path::Path;

#[test]
fn the_kept_corpus_breaks_nothing() {
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
