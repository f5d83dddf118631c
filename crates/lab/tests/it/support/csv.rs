//! CSV files of the tests.

/// Rows of a CSV text with comment lines, as functions from a column name to the value.
pub fn rows(csv: &'static str) -> Vec<impl Fn(&str) -> &'static str> {
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let (names, cells): (_, Vec<&str>) = (names.clone(), line.split(',').collect());
            move |name: &str| cells[names.iter().position(|known| *known == name).unwrap()]
        })
        .collect()
}
