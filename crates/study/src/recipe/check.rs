//! What a recipe is held to before anything runs: numbers to their ranges, factors to each other, a search to the rest.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Class, Fault};

use super::factor::{AllAlike, Key, Places};
use super::{Factor, MOST_ARMS, Recipe, Search};
use crate::statistics::signed_rank::MOST_BLOCKS;

/// The most factors: with two levels each they have more combinations than can be listed.
const MOST_FACTORS: usize = 64;

impl Recipe {
    /// Holds the recipe to what a study can do, and secrets to where they can be.
    ///
    /// # Errors
    /// A number outside its range, keys that do not go together, a key or value that a level cannot set; without what it quotes of a secret.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_secrets()?;
        let (_, secrets) = self.concealed()?;
        self.check_open().map_err(|fault| secrets.kept_out_of(fault))
    }

    fn check_open(&self) -> Result<(), Fault> {
        self.check_numbers()?;
        self.check_factors()?;
        self.check_hosts()?;
        if self.metric.is_empty() {
            return Err(Fault::new(Class::Usage, "metric", "it is empty", "name the figure that decides"));
        }
        if let Some(search) = &self.search {
            search.check(self)?;
        }
        if !self.full.is_empty() {
            self.clone().at_full_size()?;
        }
        self.clone().filled().map(drop)
    }

    /// Holds each factor to being one of its own, and each level of a key to what the key can be.
    fn check_factors(&self) -> Result<(), Fault> {
        let mut names = BTreeSet::new();
        if let Some(twice) = self.factors.iter().map(Factor::name).find(|name| !names.insert(name.clone())) {
            let remedy =
                "put their levels into one factor, or give each factor of kind places or boot its own name";
            return Err(Fault::new(Class::Usage, format!("factor {twice}"), "it is given twice", remedy));
        }
        // What a key can be does not depend on factors, and with them each of many levels would be held against all.
        let without = Self { factors: Vec::new(), ..self.clone() };
        for factor in &self.factors {
            if let Factor::Key(Key { key, values }) = factor {
                for value in values {
                    without.with_keys(&BTreeMap::from([(key.clone(), value.clone())]))?;
                }
            }
        }
        Ok(())
    }

    /// Holds the hosts to what they can do, and the recipe to having its load on them.
    fn check_hosts(&self) -> Result<(), Fault> {
        hosts::host::check_all(&self.hosts)?;
        let usage =
            |object: &str, cause: &str, remedy: &str| Err(Fault::new(Class::Usage, object, cause, remedy));
        if let Some(server) = self.hosts.iter().find(|host| host.role == hosts::Role::Server) {
            let cause = "a study runs on the host of its server";
            return usage(
                &format!("host {}: role", server.name),
                cause,
                "leave it out of the recipe, and name it with --host server=NAME or in the file of --hosts",
            );
        }
        if self.hosts.is_empty() {
            return Ok(());
        }
        let places = self.factors.iter().filter_map(|factor| match factor {
            Factor::Places(places) => Some(&places.levels),
            _ => None,
        });
        let mut places = places.flatten().chain([&self.baseline]).chain(&self.mis_tuning);
        if self.load_cpus.is_some() || places.any(|place| place.load.is_some()) {
            let remedy = "leave it out; for a load on another host, set the key cpus of that host";
            return usage("load CPUs", "they are CPUs of this host, but other hosts drive the load", remedy);
        }
        if self.server.pair || self.load.netns().is_some() {
            let remedy = "leave load.netns and server.pair out";
            return usage("load.netns", "it belongs to this host, but other hosts drive the load", remedy);
        }
        let also = self.also.iter().map(|also| &also.metric);
        also.chain([&self.metric]).try_for_each(|metric| hosts::check_load(&self.load, &self.hosts, metric))
    }

    /// Holds the numbers to their ranges: those of a case as well, which may come from anybody.
    ///
    /// # Errors
    /// A number outside its range; the fault names its key.
    pub(crate) fn check_numbers(&self) -> Result<(), Fault> {
        range("budget.blocks", self.budget.blocks as f64, 0.0, MOST_BLOCKS as f64)?;
        range("budget.window_s", self.budget.window_s, 0.2, 3600.0)?;
        range("budget.warm_up_cap_s", self.budget.warm_up_cap_s, 0.0, 3600.0)?;
        range("budget.trial_timeout_s", self.budget.trial_timeout_s, 1.0, 86_400.0)?;
        range("precision.margin", self.precision.margin, 0.0, 0.5)?;
        range("precision.alpha", self.precision.alpha, 0.0001, 0.5)?;
        range("work_us", self.work_us, 0.0, 1e6)?;
        range("samples_per_s", self.samples_per_s, 1.0, 100.0)?;
        range("budget.attempts", self.budget.attempts as f64, 1.0, 20.0)?;
        range("budget.most_failed_share", self.budget.most_failed_share, 0.0, 1.0)?;
        range(
            "budget.observed_blocks",
            self.budget.observed_blocks.unwrap_or(0) as f64,
            0.0,
            MOST_BLOCKS as f64,
        )?;
        range("budget.trials_a_boot", self.budget.trials_a_boot as f64, 1.0, 100.0)?;
        range("disturbed.others_cpus", self.disturbed.others_cpus, 0.0, 1e6)?;
        range("disturbed.steal_share", self.disturbed.steal_share, 0.0, 1.0)?;
        self.dose.check()?;
        self.harm.check()?;
        range("most_arms", self.most_arms as f64, 2.0, MOST_ARMS as f64)?;
        range("number of factors", self.factors.len() as f64, 0.0, MOST_FACTORS as f64)?;
        for factor in &self.factors {
            range(
                &format!("levels of {}", factor.name()),
                factor.named_levels() as f64,
                0.0,
                MOST_ARMS as f64,
            )?;
            if let Factor::AllAlike(AllAlike { copies }) = factor {
                range("factors.copies", *copies as f64, 1.0, 64.0)?;
            }
        }
        if let Some(search) = &self.search {
            range("search.trials", search.trials as f64, 2.0, 4000.0)?;
            range("search.arms_a_block", search.arms_a_block as f64, 2.0, 64.0)?;
        }
        Ok(())
    }

    /// Holds server and load to what a trial can start.
    pub(super) fn check_filled(&self) -> Result<(), Fault> {
        if !self.server.is_unnamed() {
            self.server.check()?;
        }
        self.load.workload().check()
    }
}

impl Search {
    /// Holds it to what a search can do, beside the other keys of `recipe`.
    fn check(&self, recipe: &Recipe) -> Result<(), Fault> {
        let wrong = |key: &str, cause: &str, remedy: &str| Err(Fault::new(Class::Usage, key, cause, remedy));
        if self.server.contains(&0) {
            return wrong("search.server", "a server needs at least one CPU", "leave the 0 out");
        }
        if !recipe.budget.looks.is_empty() {
            let remedy =
                "leave it out: a search ends by its own rule, and is confirmed in budget.blocks blocks";
            return wrong("budget.looks", "a search has no looks", remedy);
        }
        if !recipe.expectations.is_empty() {
            let remedy = "leave them out, and check the placement that the search finds against them in a separate study";
            return wrong("expectations", "a search has no arms before it has run", remedy);
        }
        if recipe.asks_for_boots() {
            let cause = "each of its trials would need its own boot";
            let remedy =
                "search under the kernel that runs now, and study boot parameters with what was found";
            return wrong("search", cause, remedy);
        }
        if !self.cpus {
            return self.check_levels_alone(recipe);
        }
        let fits = |factor: &Factor| {
            matches!(factor, Factor::Memory(_) | Factor::Knob(_) | Factor::Key(_))
                || matches!(factor, Factor::Places(Places { levels, .. })
                if levels.iter().all(|place| {
                    place.server.is_none() && place.load.is_none() && place.housekeeping.is_none()
                }))
        };
        match recipe.factors.iter().find(|factor| !fits(factor)) {
            None => Ok(()),
            Some(factor) => Err(Fault::new(
                Class::Usage,
                format!("factor {}", factor.name()),
                "it places the server or the load, which the search does itself, or the kernel's own work, which depends on that",
                "leave it out, search without CPUs (search.cpus = false), or leave [search] out and try each of its levels",
            )),
        }
    }

    fn check_levels_alone(&self, recipe: &Recipe) -> Result<(), Fault> {
        let wrong = |cause: &str, remedy: &str| Err(Fault::new(Class::Usage, "search.cpus", cause, remedy));
        if recipe.factors.is_empty() {
            return wrong("without CPUs there is nothing to search", "add [[factors]], or leave it out");
        }
        if !self.server.is_empty() || !self.load.is_empty() {
            let remedy = "leave search.server and search.load out, or set search.cpus = true";
            return wrong("numbers of CPUs are named, but CPUs are not searched", remedy);
        }
        let moves_work = |factor: &&Factor| matches!(factor, Factor::Places(Places { levels, .. }) if levels.iter().any(|place| place.housekeeping.is_some()));
        if let Some(factor) = recipe.factors.iter().find(moves_work) {
            return Err(Fault::new(
                Class::Usage,
                format!("factor {}", factor.name()),
                "it moves the kernel's own work, which a search does not",
                "leave `housekeeping` out of its levels, or leave [search] out and try each of them",
            ));
        }
        Ok(())
    }
}

/// Holds the value of a key to a range, both ends included.
fn range(key: &str, value: f64, low: f64, high: f64) -> Result<(), Fault> {
    match value >= low && value <= high {
        true => Ok(()),
        false => Err(Fault::new(
            Class::Usage,
            key,
            format!("{value} is outside {low} to {high}"),
            "choose a value in that range",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With hundreds of levels of the same key in dozens of factors, looking at them took minutes.
    #[test]
    fn factors_are_bounded_and_none_is_there_twice() {
        let factor = |key: &str, levels: usize| {
            format!("[[factors]]\nkind = 'key'\nkey = '{key}'\nvalues = {:?}\n", vec![2; levels])
        };
        let refused = |text: &str| Recipe::from_toml(text, "x.toml").unwrap_err().to_string();
        let twice = factor("variables.threads", 300).repeat(2);
        assert!(refused(&twice).contains("variables.threads"), "{}", refused(&twice));
        assert!(refused(&twice).contains("twice"), "{}", refused(&twice));
        let levels = factor("variables.threads", 401);
        assert!(refused(&levels).contains("401 is outside 0 to 400"), "{}", refused(&levels));
        let many: String = (0..65).map(|number| factor(&format!("variables.x{number}"), 1)).collect();
        assert!(refused(&many).contains("number of factors"), "{}", refused(&many));
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let fault = Recipe::from_toml("[precision]\nmargin = 7.0\n", "x.toml").unwrap_err();
        assert!(fault.to_string().contains("precision.margin"), "{fault}");
    }

    fn fault(text: &str) -> String {
        Recipe::from_toml(text, "x").unwrap_err().to_string()
    }

    /// As docs/latency.md, docs/layers.md, docs/openldap.md and docs/rabbitmq.md run them.
    #[test]
    fn hosts_go_with_recipes_that_leave_the_load_where_it_is() {
        let read = |file: &str| {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
            Recipe::from_toml(&std::fs::read_to_string(folder.join(file)).unwrap(), file).unwrap()
        };
        let with_a_host =
            |recipe: Recipe| Recipe { hosts: vec![hosts::HostSpec::named("b")], ..recipe }.check();
        for file in ["latency-hosts.toml", "openldap-scaling.toml", "openldap-null.toml"] {
            with_a_host(read(file)).unwrap();
        }
        with_a_host(read("rabbitmq-nodes.toml").at_full_size().unwrap()).unwrap();
        let mut layers = read("latency-layers.toml");
        let fault = with_a_host(layers.clone()).unwrap_err().to_string();
        assert!(fault.contains("server.pair"), "{fault}");
        layers.server.pair = false;
        with_a_host(layers).unwrap();
        for file in ["latency-transports.toml", "rabbitmq-nodes.toml"] {
            let fault = with_a_host(read(file)).unwrap_err().to_string();
            assert!(fault.contains("load CPUs"), "{file}: {fault}");
        }
    }

    #[test]
    fn several_processes_of_a_command_print_no_latency_that_decides() {
        let text = "metric = 'latency_p99_us'\n[load]\ndriver = 'command'\ncommand = 'wrk {port}'\n\
                    [load.figures]\nlatency_p99_us = { regex = '(x)' }\n[[hosts]]\nname = 'b'\n";
        Recipe::from_toml(text, "x").unwrap();
        let refused = fault(&format!("{text}processes = 2\n"));
        assert!(refused.contains("figure latency_p99_us") && refused.contains("2 processes"), "{refused}");
        assert!(fault("[load]\ndriver = 'spin'\n[[hosts]]\nname = 'b'\n").contains("load spin"));
    }

    #[test]
    fn what_does_not_go_with_a_search_is_named() {
        assert!(fault("[search]\n[[factors]]\nkind = \"each-cpu\"\n").contains("factor cpu"));
        assert!(fault("[search]\n[budget]\nlooks = [4]\n").contains("budget.looks"));
        assert!(fault("[search]\ncpus = false\n").contains("search.cpus: without CPUs there is nothing"));
        let key = "[[factors]]\nkind = \"key\"\nkey = \"load.connections\"\nvalues = [1, 2]\n";
        assert!(fault(&format!("[search]\ncpus = false\nserver = [1]\n{key}")).contains("numbers of CPUs"));
        Recipe::from_toml(&format!("[search]\ncpus = false\n{key}"), "x").unwrap();
        assert!(fault("[search]\nserver = [0, 1]\n").contains("search.server"));
        assert!(fault("[search]\ntrials = 1\n").contains("search.trials"));
        let boot =
            "[search]\n[[factors]]\nkind = \"boot\"\nlevels = [{ words = \"\" }, { words = \"nosmt\" }]\n";
        assert!(fault(boot).contains("its own boot"));
        assert!(fault("[search]\n[baseline]\nboot = \"nosmt\"\n").contains("its own boot"));
        let places = "[search]\n[[factors]]\nkind = \"places\"\nlevels = [{ memory = \"local\" }, { server = \"0\" }]\n";
        assert!(fault(places).contains("factor place"));
    }
}
