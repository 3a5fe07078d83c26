use super::*;

fn of(text: &str) -> MetricSpec {
    text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

#[test]
fn the_form_of_a_command_line_is_read_and_written() {
    for text in [
        r#"latency_p99_us=prometheus:http://h:9100/metrics#http_request_duration_seconds{handler="/"} | p99"#,
        "load=prometheus:http://h:9100/metrics#node_load1",
        r"commands_per_s=command:redis-cli info stats | counter | regex total_commands_processed:(\d+)",
        "queue=command:tool --json | gauge | json-pointer /queues/0/length",
        r"upstream_s=log:/var/log/nginx/access.log | p99.9 | regex rt=(?P<value>[\d.]+)( | $)",
        "errors=log:/var/log/nginx/error.log | count | regex \\[(error|crit)\\]",
        "errors_per_s=log:/var/log/x.log | counter | regex 5\\d\\d",
    ] {
        assert_eq!(of(text).to_string(), text);
        let json = serde_json::to_string(&of(text)).unwrap();
        assert_eq!(serde_json::from_str::<MetricSpec>(&json).unwrap(), of(text));
    }
}

#[test]
fn a_recipe_gives_the_same_by_keys() {
    let spec: MetricSpec = toml::from_str(
        "name = 'commands_per_s'\nsource = \"command:'redis-cli info stats'\"\ntake = 'counter'\n\
         figure = { regex = 'total_commands_processed:(\\d+)' }\n",
    )
    .unwrap();
    spec.check().unwrap();
    let line =
        r"commands_per_s=command:redis-cli info stats | counter | regex total_commands_processed:(\d+)";
    assert_eq!(spec, of(line));
    assert!(toml::from_str::<MetricSpec>("name = 'a'\nsource = 'log:/x'\nunit = 'us'").is_err());
}

#[test]
fn what_does_not_go_together_is_refused_with_a_remedy() {
    for (text, why) in [
        ("x", "it has no source"),
        ("X=log:/a | count | regex b", "its name is none of a figure"),
        ("=log:/a | count | regex b", "its name is none of a figure"),
        ("x_us=prometheus:http://h/m#a_bytes", "another kind of unit"),
        ("x_mb=prometheus:http://h/m#a_bytes", "_mib"),
        ("x=prometheus:http://h/m#a | regex (b)", "leave the expression out"),
        ("x=prometheus:http://h/m#a | p99 | mean", "said twice"),
        ("x=command:a | gauge", "where in the output"),
        ("x=command:a | regex (b)", "a counter or a gauge"),
        ("x=command:a | p99 | regex (b)", "a counter or a gauge"),
        ("x=command:a | grep b", "no shell runs a command"),
        ("x=command:a | gauge | regex b", "no group"),
        ("x=command:a | gauge | json-pointer b", "slash"),
        ("x=command:a {port} | gauge | regex (b)", "{port}"),
        ("x=command: | gauge | regex (b)", "no command"),
        ("x=command:a 'b | c' | gauge | regex (b)", "quote"),
        ("x=log:/a | mean", "which lines count"),
        ("x=log:/a | mean | json-pointer /a", "which lines count"),
        ("x=log:/a | gauge | regex (b)", "of the lines of a window"),
        ("x=log:/a | mean | regex b", "no group"),
        ("x=log:/a | count | regex (", "malformed"),
    ] {
        let error = text.parse::<MetricSpec>().unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let long = format!("x=log:/a | count | regex {}", "b".repeat(5000));
    assert!(long.parse::<MetricSpec>().unwrap_err().to_string().contains("longer than 4096"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,80}", near in "a=(command:a|log:/a|prometheus:http://a/#a)[ |a-z()/\\\\]{0,40}") {
        let _ = text.parse::<MetricSpec>();
        if let Ok(spec) = near.parse::<MetricSpec>() {
            proptest::prop_assert_eq!(spec.to_string().parse::<MetricSpec>().unwrap(), spec);
        }
    }
}
