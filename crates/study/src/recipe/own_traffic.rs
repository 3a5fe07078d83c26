//! Which recipes a study of a running server under its own traffic can have: what is switched under its clients has to come and go within
//! seconds, and nothing that is said at a start can be varied.

use load::{Counted, LoadSpec};
use machine::{Class, Fault, Setting};

use super::crossing::{self, Crossing};
use super::factor::{Knob, Places};
use super::place::Place;
use super::{Factor, Recipe};

/// Largest share of the server's CPU time that a dose may take from production.
const MOST_DOSE: f64 = 0.1;

impl Recipe {
    /// Whether its load is the traffic that the server has anyway.
    pub fn has_own_traffic(&self) -> bool {
        matches!(self.load, LoadSpec::OwnTraffic(_))
    }

    /// Holds a recipe with such a load to what can be studied so, and any other to having no budget of harm.
    ///
    /// # Errors
    /// What cannot be done with a running server, or what does not cross over; the fault says why.
    pub fn check_own_traffic(&self) -> Result<(), Fault> {
        if self.has_own_traffic() {
            self.check_server_and_load()?;
            self.check_design()?;
            return self.check_crossing();
        }
        match self.harm.is_usual() {
            true => Ok(()),
            false => refused(
                "harm",
                "no guard counts harm under this load",
                "leave it out, or choose --traffic own",
            ),
        }
    }

    fn check_server_and_load(&self) -> Result<(), Fault> {
        if self.server.running.is_none() {
            let remedy = "name the server: --running nginx.service";
            return refused(
                "own traffic",
                "only a server that is already running has its own traffic",
                remedy,
            );
        }
        if !self.hosts.is_empty() {
            let remedy = "leave the hosts out: the clients of the server are its load";
            return refused(
                "hosts",
                "they would drive a load, but the load is the server's own traffic",
                remedy,
            );
        }
        let places = self.places();
        if self.load_cpus.is_some() || places.iter().any(|place| place.load.is_some()) {
            return refused(
                "load CPUs",
                "pinwise does not place the clients of the server",
                "leave them out",
            );
        }
        if let LoadSpec::OwnTraffic(own) = &self.load
            && !own.metrics.is_empty()
            && own.metrics_every_s * 2.0 > self.budget.window_s
        {
            return refused(
                "load.metrics_every_s",
                &format!("{} s between two readings is more than half of a window", own.metrics_every_s),
                "read more often, or measure longer windows (--window): a figure needs two readings within one",
            );
        }
        match self.metric == Counted::Seen.rate() {
            false => Ok(()),
            true => refused(
                "metric requests_per_s",
                "the clients decide how many requests come, whatever the arm",
                "decide by a latency (latency_p99_us) or by CPU time (cpu_us_per_request)",
            ),
        }
    }

    fn check_design(&self) -> Result<(), Fault> {
        if self.mis_tuning.is_some() {
            let remedy = "leave it out; for a control of known size, give a small dose (--dose 0.05)";
            return refused("mis_tuning", "it would make a server in production worse on purpose", remedy);
        }
        if self.dose.share > MOST_DOSE {
            let cause =
                format!("{} of the server's CPU time would be taken from production", self.dose.share);
            return refused("dose.share", &cause, "choose 0.1 at most, or 0 for no dose (--dose 0)");
        }
        if self.search.is_some() {
            let remedy = "leave it out, and compare a few placements that are known to be good elsewhere";
            return refused("search", "most placements that a search tries are bad", remedy);
        }
        if self.budget.observed_blocks.is_some_and(|blocks| blocks > 0) {
            let remedy =
                "leave it out (--observed 0); 'pinwise diagnose' observes a server without changing it";
            return refused(
                "budget.observed_blocks",
                "no budget limits harm in blocks other than the deciding ones",
                remedy,
            );
        }
        match self.factors.is_empty() {
            false => Ok(()),
            true => refused(
                "factors",
                "nothing to vary is named, and each CPU in turn would put all of the traffic on one CPU",
                "name it in a recipe ([[factors]]; docs/own-traffic.md), or use --cpus for each CPU in turn, or --aa 1 to vary nothing",
            ),
        }
    }

    fn check_crossing(&self) -> Result<(), Fault> {
        self.settings.iter().try_for_each(check_setting)?;
        self.places().into_iter().try_for_each(check_place)?;
        self.factors.iter().try_for_each(check_factor)
    }

    /// Every place that it names beside a mis-tuning.
    fn places(&self) -> Vec<&Place> {
        let of_factors = self.factors.iter().flat_map(|factor| match factor {
            Factor::Places(Places { levels, .. }) => levels.as_slice(),
            _ => &[],
        });
        std::iter::once(&self.baseline).chain(of_factors).collect()
    }
}

fn check_factor(factor: &Factor) -> Result<(), Fault> {
    let object = || format!("factor {}", factor.name());
    match factor {
        Factor::Memory(_) => refused(object(), LAUNCH, RESTART),
        Factor::Boot(_) => refused(object(), "it takes effect at boot", RESTART),
        Factor::Key(_) => refused(
            object(),
            "keys determine how server and load are started, and neither is started here",
            RESTART,
        ),
        Factor::Knob(Knob { knob, .. }) => check_knob(knob, object()),
        Factor::EachCpu(_)
        | Factor::AllAlike(_)
        | Factor::Nodes(_)
        | Factor::Cores(_)
        | Factor::Places(_) => Ok(()),
    }
}

fn check_place(place: &Place) -> Result<(), Fault> {
    let object = || format!("place {}", place.title());
    if place.memory.is_some() {
        return refused(object(), LAUNCH, RESTART);
    }
    if place.boot.is_some() {
        return refused(object(), "kernel parameters take effect at boot", RESTART);
    }
    if !place.keys.is_empty() {
        return refused(
            object(),
            "keys determine how server and load are started, and neither is started here",
            RESTART,
        );
    }
    place.settings.iter().try_for_each(check_setting)
}

fn check_setting(setting: &Setting) -> Result<(), Fault> {
    check_knob(&setting.knob, format!("setting {}", setting.object()))
}

/// Why a memory policy does not cross over.
const LAUNCH: &str = "where memory comes from is set when the server is started";

/// What to do instead.
const RESTART: &str =
    "study it with a server and a load that pinwise starts itself, or leave it out: it needs a restart";

/// Holds a knob to crossing over; one that there is not is for others to name.
fn check_knob(knob: &str, object: String) -> Result<(), Fault> {
    match crossing::of(knob) {
        None | Some(Crossing::WithinSeconds(_)) => Ok(()),
        Some(Crossing::Outlasts(why)) => {
            refused(object, &format!("its effect does not come and go within seconds: {why}"), RESTART)
        }
        Some(Crossing::Disturbs(how)) => {
            refused(object, &format!("switching it disturbs the traffic: {how}"), RESTART)
        }
    }
}

fn refused(object: impl std::fmt::Display, cause: &str, remedy: &str) -> Result<(), Fault> {
    Err(Fault::new(Class::Usage, object, cause, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recipe that is accepted, with more.
    fn recipe(more: &str) -> Recipe {
        let text = format!(
            "metric = 'latency_p99_us'\ndose = {{ share = 0.0 }}\n{more}\n[server]\nrunning = 'nginx'\nport = 80\n[load]\ndriver = 'own-traffic'\n"
        );
        Recipe::from_toml(&text, "x").unwrap()
    }

    const PLACES: &str = "factors = [{ kind = 'places', levels = [{ server = '0' }] }]";

    fn fault(more: &str) -> Fault {
        recipe(more).check_own_traffic().unwrap_err()
    }

    #[test]
    fn places_and_knobs_that_cross_over_are_accepted() {
        recipe(PLACES).check_own_traffic().unwrap();
        let knob = "factors = [{ kind = 'knob', knob = 'scheduling-policy', target = 'server', values = ['other'] }]";
        recipe(knob).check_own_traffic().unwrap();
        recipe("factors = [{ kind = 'all-alike', copies = 2 }]").check_own_traffic().unwrap();
        Recipe::default().check_own_traffic().unwrap();
    }

    #[test]
    fn what_is_said_at_a_start_or_outlasts_its_trial_is_refused_with_the_reason() {
        for (more, why) in [
            ("factors = [{ kind = 'memory', policies = ['local'] }]", "started"),
            ("factors = [{ kind = 'boot', levels = [{ words = 'nosmt' }] }]", "takes effect at boot"),
            (
                "factors = [{ kind = 'key', key = 'variables.threads', values = [1] }]\nvariables = { threads = 1 }",
                "neither is",
            ),
            (
                "factors = [{ kind = 'knob', knob = 'transparent-huge-pages', values = ['never'] }]",
                "mapped already",
            ),
            (
                "factors = [{ kind = 'knob', knob = 'channels', target = 'eth0', values = ['combined 1'] }]",
                "interface down",
            ),
            ("factors = [{ kind = 'places', levels = [{ server = '0', memory = 'local' }] }]", "started"),
            (
                "factors = [{ kind = 'places', levels = [{ settings = [{ knob = 'cpuset-mems', target = '/x', value = '0' }] }] }]",
                "stays where it is",
            ),
        ] {
            let fault = fault(more);
            assert!(fault.class == Class::Usage && fault.cause.contains(why), "{more}: {fault}");
            assert!(fault.remedy.contains("restart"), "{fault}");
        }
    }

    #[test]
    fn what_does_not_go_with_production_is_refused() {
        for (more, object) in [
            ("", "factors"),
            (format!("{PLACES}\nmis_tuning = {{ server = '0' }}").as_str(), "mis_tuning"),
            (format!("{PLACES}\nload_cpus = '1'").as_str(), "load CPUs"),
            (format!("{PLACES}\nbudget = {{ observed_blocks = 6 }}").as_str(), "observed_blocks"),
        ] {
            assert!(fault(more).object.contains(object), "{more}: {}", fault(more));
        }
        let mut dosed = recipe(PLACES);
        dosed.dose.share = 0.2;
        assert!(dosed.check_own_traffic().unwrap_err().object.contains("dose"));
        dosed.dose.share = 0.05;
        dosed.check_own_traffic().unwrap();
        let rate = Recipe { metric: "requests_per_s".into(), ..recipe(PLACES) };
        assert!(rate.check_own_traffic().unwrap_err().object.contains("requests_per_s"));
        let mut started = recipe(PLACES);
        started.server.running = None;
        assert!(started.check_own_traffic().unwrap_err().remedy.contains("--running"));
    }

    #[test]
    fn a_window_has_two_readings_of_what_the_server_states() {
        let mut read = recipe(PLACES);
        let LoadSpec::OwnTraffic(own) = &mut read.load else { panic!("another load") };
        own.metrics = vec!["queue_len=command:x | gauge | regex (.*)".parse().unwrap()];
        own.metrics_every_s = 0.5;
        read.budget.window_s = 1.0;
        read.check_own_traffic().unwrap();
        read.budget.window_s = 0.9;
        assert!(read.check_own_traffic().unwrap_err().object.contains("metrics_every_s"));
    }

    #[test]
    fn a_budget_of_harm_goes_with_own_traffic_alone() {
        let recipe = Recipe::from_toml("[harm]\nmost_breaches = 1\n", "x").unwrap();
        assert!(recipe.check_own_traffic().unwrap_err().object.contains("harm"));
    }
}
