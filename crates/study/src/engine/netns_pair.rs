//! Network namespaces of a trial's own, for its server and its load.

use change::Hand;
use machine::{Act, Fault, NetnsPair};

use crate::recipe::Recipe;

/// Makes them where the recipe asks for them, and puts server and load into them. They go when the hand takes the trial back.
///
/// # Errors
/// Without root or ip(8), or when there are such already.
pub fn make(recipe: &mut Recipe, hand: &mut Hand) -> Result<(), Fault> {
    if !recipe.server.pair {
        return Ok(());
    }
    let pair = NetnsPair::of_study();
    hand.perform(&Act::MakeNetnsPair { pair: pair.clone() })?;
    let [server, load] = pair.names;
    let spec = &mut recipe.server;
    (spec.pair, spec.netns, spec.address) = (false, Some(server), NetnsPair::server_address());
    recipe.load.set_netns(Some(load));
    Ok(())
}
