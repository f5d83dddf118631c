//! Prints all families, or the schema: the data of `airwnd list`, `airwnd explain` and `airwnd schema`.
//!
//! `cargo run -p airwnd-lab --example catalogue [-- schema]`

fn main() {
    if std::env::args().nth(1).as_deref() == Some("schema") {
        println!("{:#}", airwnd_lab::schema());
        return;
    }
    for family in airwnd_lab::catalogue() {
        println!("{}: {}", family.name, family.summary);
        for member in family.members {
            println!("  {}: {} [{}]", member.name, member.summary, member.source);
            for param in member.params {
                let default = param.default.map_or("required".into(), |value| value.to_string());
                println!("    {} = {default} [{}] {}", param.name, param.unit, param.meaning);
            }
        }
    }
}
