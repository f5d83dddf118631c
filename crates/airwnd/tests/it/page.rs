//! The how-to guide shows the files of the template.

const PAGE: &str = include_str!("../../../../docs/how-to/test-your-transport.md");
const CELL: &str = include_str!("../../../../examples/transport-test/cell.toml");
const TEST: &str = include_str!("../../../../examples/transport-test/tests/cell.rs");
const TRAIT: &str = include_str!("../../src/endpoint.rs");

fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#') || line.starts_with("#["));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_page_has_the_cell_and_the_test_of_the_template() {
    assert!(PAGE.contains(&without_comments(CELL)));
    let test = &TEST[TEST.find("#[test]").unwrap()..];
    assert!(PAGE.contains(test));
}

#[test]
fn the_page_has_the_methods_of_the_trait() {
    let methods = |text: &str| {
        let body =
            text.split_once("pub trait Endpoint {\n").unwrap().1.split_once("\n}\n").unwrap().0.to_string();
        let names = body.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
        names.map(|line| line.trim_end_matches(['{', ';', ' ']).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(methods(PAGE), methods(TRAIT));
}
