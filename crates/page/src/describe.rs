//! Descriptions of algorithms.

use airwnd_catalog::{AlgorithmInfo, ParamInfo};
use serde_json::{Value as Json, json};

/// Members of a family of algorithms, such as `cc`, as a JSON array: name, summary, source and parameters of each. Empty
/// for an unknown family.
pub fn describe(family: &str) -> String {
    let families = airwnd_lab::catalogue();
    let members = families.iter().filter(|known| known.name == family).flat_map(|family| &family.members);
    members.map(member).collect::<Json>().to_string()
}

fn member(member: &AlgorithmInfo) -> Json {
    json!({
        "name": member.name,
        "summary": member.summary,
        "source": member.source,
        "params": member.params.iter().map(param).collect::<Json>(),
    })
}

fn param(param: &ParamInfo) -> Json {
    json!({"name": param.name, "meaning": param.meaning, "unit": param.unit, "default": param.default, "required": param.default.is_none()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_its_members() {
        let members: Json = serde_json::from_str(&describe("cc")).unwrap();
        let cubic = members.as_array().unwrap().iter().find(|member| member["name"] == "cubic").unwrap();
        assert!(cubic["summary"].as_str().unwrap().starts_with("CUBIC: "));
        assert!(cubic["params"].as_array().unwrap().iter().any(|param| param["name"] == "beta"));
        assert_eq!(describe("nothing"), "[]");
    }
}
