//! Balloons of nri-plugins, layers of scx_layered, and hours of the day.

use super::*;

fn of(settings: &[(&str, &str, &str)]) -> Vec<PlannedActs> {
    let planned = |(knob, target, value): &(&str, &str, &str)| Planned {
        knob: (*knob).into(),
        target: (*target).into(),
        value: (*value).into(),
        ..Planned::default()
    };
    planned_acts::of(&root(), &Plan { settings: settings.iter().map(planned).collect(), ..Plan::default() })
}

#[test]
fn balloons_get_a_type_for_the_server_and_cpus_for_the_system() {
    let balloons = in_form(PlanFormat::NriBalloons);
    assert_eq!(
        bare(&balloons, "kubernetes/balloons-policy.yaml"),
        "apiVersion: config.nri/v1alpha1\nkind: BalloonsPolicy\nmetadata:\n  name: group.pinwise\n  namespace: kube-system\n\
         spec:\n  reservedResources:\n    cpu: \"cpuset:0-1\"\n  balloonTypes:\n  - name: pinwise-server\n    minCPUs: 2\n    \
         maxCPUs: 2\n    minBalloons: 1\n    maxBalloons: 1\n    pinMemory: true\n    \
         preferCloseToDevices: [\"/sys/devices/system/node/node0\"]\n    schedulingClass: pinwise-server\n  \
         schedulingClasses:\n  - name: pinwise-server\n    policy: fifo\n    priority: 5\n    ioClass: be\n    \
         ioPriority: 2\n"
    );
    let whole = ["scheduling-policy", "io-priority"];
    assert!(balloons.left.iter().all(|left| !whole.contains(&left.setting.knob.as_str())), "{balloons:?}");
    assert_eq!(balloons.left.len(), PLAN.len() - whole.len());
}

#[test]
fn balloons_get_isolated_cpus_and_the_clocks_that_all_of_them_have() {
    let settings = of(&[
        ("process-affinity", "server", "2-3"),
        ("frequency-governor", "policy2", "performance"),
        ("frequency-governor", "policy3", "performance"),
        ("frequency-governor", "policy0", "powersave"),
        ("frequency-min", "policy2", "2000000"),
        ("energy-performance-preference", "policy2", "power"),
    ]);
    let isolated = CpuSet::from_list("2-3").unwrap();
    let asked = Asked { isolated: Some(&isolated), ..about(&settings) };
    let balloons = formatted(PlanFormat::NriBalloons, &asked);
    let text = bare(&balloons, "kubernetes/balloons-policy.yaml");
    assert!(text.contains("    preferIsolCpus: true\n    cpuClass: pinwise-server\n"), "{text}");
    assert!(
        text.ends_with("  cpuClasses:\n  - name: pinwise-server\n    freqGovernor: \"performance\"\n"),
        "{text}"
    );
    assert!(!text.contains("reservedResources:\n"), "the plan names none: {text}");
    let in_part = balloons.left.iter().filter(|left| left.in_part).count();
    assert_eq!((in_part, balloons.left.len()), (3, settings.len()));
}

#[test]
fn layers_hold_threads_of_units_cgroups_and_processes() {
    let settings = of(&[
        ("cpuset", "/sys/fs/cgroup/system.slice", "0-3"),
        ("process-affinity", "server", "2-3"),
        ("process-affinity", "4711", "1"),
        ("cpu-resume-latency", "cpu2", "20"),
        ("cpu-resume-latency", "cpu3", "20"),
        ("cpu-resume-latency", "cpu0", "20"),
        ("memory-policy", "server", "bind:1"),
    ]);
    let nodes = [(0, CpuSet::from_list("0-1").unwrap()), (1, CpuSet::from_list("2-3").unwrap())];
    let asked = Asked { unit: Some("web"), nodes: &nodes, ..about(&settings) };
    let layers = formatted(PlanFormat::ScxLayered, &asked);
    let read: serde_json::Value = serde_json::from_str(&layers.files[0].text).unwrap();
    let confined = |i: usize| read[i]["kind"]["Confined"].clone();
    assert_eq!(read[0]["matches"].to_string(), "[[{\"TGIDEquals\":4711}]]");
    assert_eq!(read[1]["matches"].to_string(), "[[{\"CgroupContains\":\"/web.service/\"}]]");
    assert_eq!(read[2]["matches"].to_string(), "[[{\"CgroupPrefix\":\"system.slice/\"}]]");
    assert_eq!(confined(1)["cpus_range"].to_string(), "[2,2]");
    assert_eq!(confined(1)["nodes"].to_string(), "[1]");
    assert_eq!(confined(1)["idle_resume_us"].as_u64(), Some(20));
    assert!(confined(2)["idle_resume_us"].is_null());
    assert_eq!(confined(2)["nodes"].to_string(), "[0,1]");
    // scx_layered wants the last one to hold all that is left.
    assert_eq!(read[3]["matches"].to_string(), "[[]]");
    assert_eq!(read.as_array().unwrap().len(), 4);
    let comment = read[0]["comment"].as_str().unwrap();
    assert!(layers.left.iter().all(|left| comment.lines().any(|line| line == left.to_string())), "{comment}");
    let in_part = layers.left.iter().filter(|left| left.in_part).count();
    assert_eq!((in_part, layers.left.len()), (5, settings.len()));
}

#[test]
fn no_more_layers_than_scx_layered_takes() {
    let paths: Vec<String> = (0..20).map(|i| format!("/sys/fs/cgroup/a{i}")).collect();
    let settings: Vec<(&str, &str, &str)> = paths.iter().map(|path| ("cpuset", path.as_str(), "0")).collect();
    let settings = of(&settings);
    let layers = formatted(PlanFormat::ScxLayered, &about(&settings));
    let read: serde_json::Value = serde_json::from_str(&layers.files[0].text).unwrap();
    assert_eq!(read.as_array().unwrap().len(), 16);
    assert_eq!(layers.left.iter().filter(|left| !left.in_part).count(), 5);
}

#[test]
fn hours_have_a_plan_a_script_and_two_services_with_their_timers() {
    let hours = in_form(PlanFormat::SystemdBetween("22:00-06:30".parse().unwrap()));
    let paths: Vec<&str> = hours.files.iter().map(|file| file.path.as_str()).collect();
    let units = [
        "pinwise-hours.service",
        "pinwise-hours.timer",
        "pinwise-hours-end.service",
        "pinwise-hours-end.timer",
    ]
    .map(|name| format!("etc/systemd/system/{name}"));
    assert_eq!(paths[..2], ["etc/pinwise/hours.toml", "etc/pinwise/hours.sh"]);
    assert_eq!(paths[2..], units.each_ref().map(String::as_str));
    let plan = Plan::parse(&hours.files[0].text).unwrap();
    let of = |knob: &str| {
        plan.settings.iter().find(|planned| planned.knob == knob).map(|planned| planned.target.as_str())
    };
    assert_eq!((of("process-affinity"), of("swappiness")), (Some("nginx.service"), Some("machine")));
    for left in ["boot-parameters", "memory-policy", "unit-environment", "irq-affinity", "cpuset"] {
        assert_eq!(of(left), None, "{left}");
        assert!(hours.left.iter().any(|one| one.setting.knob == left && !one.in_part), "{left}");
    }
    assert_eq!(plan.settings.len(), 10);
    let service = bare(&hours, &units[0]);
    assert!(
        service.contains("After=nginx.service\n") && service.contains("RemainAfterExit=yes\n"),
        "{service}"
    );
    assert!(bare(&hours, &units[1]).contains("OnCalendar=*-*-* 22:00:00\nOnBootSec="));
    assert!(bare(&hours, &units[3]).contains("OnCalendar=*-*-* 06:30:00\nOnClockChange="));
}
