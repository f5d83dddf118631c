//! Scenarios from TOML and from the builder.

use airwnd::Scenario;

#[test]
fn a_builder_and_toml_make_the_same_scenario() {
    let built = Scenario::builder()
        .set("duration", "3s")
        .set("rlc.queue", "{ kind = \"codel\", buffer = \"1MB\" }")
        .add("site", [("power", "40dBm")])
        .add("ue", [("name", "phone")])
        .add(
            "ue",
            [("name", "others"), ("count", "2"), ("placement.kind", "disc"), ("placement.radius", "300m")],
        )
        .add("flow", [("ue", "others")])
        .build()
        .unwrap();
    let read = Scenario::from_toml(
        "duration = \"3s\"\nrlc.queue = { kind = \"codel\", buffer = \"1MB\" }\n[[site]]\npower = \"40dBm\"\n\
         [[ue]]\nname = \"phone\"\n[[ue]]\nname = \"others\"\ncount = 2\n\
         placement = { kind = \"disc\", radius = \"300m\" }\n[[flow]]\nue = \"others\"\n",
    )
    .unwrap();
    assert_eq!(built.to_json(), read.to_json());
    assert_eq!(built.ue_names(), ["phone-0", "others-0", "others-1"]);
}

#[test]
fn the_first_mistake_of_a_builder_is_reported() {
    let builder =
        Scenario::builder().set("duration", "1s").set("rlc", "1").add("site", []).add("duration", []);
    let error = builder.add("ue", [("[", "1")]).build().unwrap_err().to_string();
    assert_eq!(error, "scenario: `duration` is not a list");
    let error = Scenario::builder().set("duration", "1s").add("ue", [("cuont", "3")]).build().unwrap_err();
    assert!(error.to_string().contains("unknown key `cuont`"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Scenario::read("nowhere/cell.toml").unwrap_err().to_string();
    assert!(error.starts_with("nowhere/cell.toml: cannot be read: "), "{error}");
}

#[test]
fn changed_keys_give_another_run_and_equal_ones_the_same() {
    let scenario = Scenario::from_toml("duration = \"1s\"\n[[site]]\n[[ue]]\n[[flow]]\n").unwrap();
    let goodput = |scenario: &Scenario, seed| scenario.run(seed).unwrap().flows()[0].goodput_kbps;
    assert_eq!(goodput(&scenario, 1), goodput(&scenario, 1));
    assert_ne!(goodput(&scenario, 1), goodput(&scenario, 2));
    let far = scenario.with("core.server_delay", "200ms").unwrap();
    assert!(goodput(&far, 1) < goodput(&scenario, 1));
}
