//! The preemption model: fixed when the kernel was built, or chosen at boot (PREEMPT_DYNAMIC) or later.

use super::config::Config;
use crate::Root;

/// The model in force: `none`, `voluntary`, `full`, `lazy` or `rt`; the error says, in words, why it is not known.
pub(super) fn model(
    root: &Root,
    version: Option<&str>,
    cmdline: Option<&str>,
    config: Option<&Config>,
) -> Result<String, String> {
    let words: Vec<&str> = version.unwrap_or_default().split_whitespace().collect();
    let says = |word: &str| words.contains(&word);
    if says("PREEMPT_RT") || says("PREEMPT_{RT}") || root.line("/sys/kernel/realtime").is_ok_and(|n| n == "1")
    {
        return Ok("rt".into());
    }
    // Since 5.12 the scheduler reports the model in force here, for those who may read debugfs.
    let now = root.read("/sys/kernel/debug/sched/preempt").ok();
    if let Some(now) = now.as_deref().and_then(marked) {
        return Ok(now.to_string());
    }
    let dynamic =
        words.iter().any(|word| word.starts_with("PREEMPT_DYNAMIC") || *word == "PREEMPT_{DYNAMIC}");
    // The last one on the command line counts.
    let asked =
        cmdline.unwrap_or_default().split_whitespace().rev().find_map(|word| word.strip_prefix("preempt="));
    // The kernel takes these words and ignores others (kernel/sched/core.c, sched_dynamic_mode).
    let asked = asked.filter(|word| ["none", "voluntary", "full", "lazy"].contains(word));
    if let (true, Some(asked)) = (dynamic, asked) {
        return Ok(asked.to_string());
    }
    let built_in = config.and_then(|config| {
        let models = [
            ("CONFIG_PREEMPT_RT", "rt"),
            ("CONFIG_PREEMPT_LAZY", "lazy"),
            ("CONFIG_PREEMPT_NONE", "none"),
            ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
            ("CONFIG_PREEMPT", "full"),
        ];
        models.iter().find(|(option, _)| config.is_set(option)).map(|(_, model)| model.to_string())
    });
    match built_in {
        Some(model) => Ok(model),
        None if says("PREEMPT") && !dynamic => Ok("full".into()),
        None => Err("neither /sys/kernel/debug/sched/preempt nor the kernel's configuration can be read - run as root \
                     with debugfs mounted"
            .into()),
    }
}

/// The model in parentheses: `none voluntary (full)`.
fn marked(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('(')?;
    rest.split_once(')').map(|(model, _)| model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn of(tree: Tree, version: &str, cmdline: &str) -> Result<String, String> {
        model(&Root::from_tree(tree), Some(version), Some(cmdline), None)
    }

    #[test]
    fn each_source_in_its_turn() {
        let debug = || Tree::new().file("/sys/kernel/debug/sched/preempt", "none voluntary (full) \n");
        assert_eq!(of(debug(), "#1 SMP PREEMPT_DYNAMIC", "preempt=none"), Ok("full".into()));
        assert_eq!(of(debug(), "#1 SMP PREEMPT_RT", ""), Ok("rt".into()));
        let none = Tree::new;
        assert_eq!(of(none(), "#1 SMP PREEMPT_DYNAMIC", "preempt=none"), Ok("none".into()));
        assert_eq!(of(none(), "#1 SMP PREEMPT", "preempt=none"), Ok("full".into()));
        assert!(of(none(), "#1 SMP PREEMPT_DYNAMIC", "quiet").is_err());
        assert!(of(none(), "#1 SMP", "").unwrap_err().contains("debugfs"));
        let torn = Tree::new().file("/sys/kernel/debug/sched/preempt", "none (fu");
        assert!(of(torn, "#1 SMP PREEMPT_DYNAMIC", "").is_err());
    }
}
