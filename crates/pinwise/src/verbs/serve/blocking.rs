//! Work that reads files, beside the runtime.

use machine::{Class, Fault};
use tokio::task::spawn_blocking;

/// Does `work` on a thread of its own, so that others are answered meanwhile. Where it panics, this request alone fails.
///
/// # Errors
/// Those of `work`; it did not come to its end.
pub(crate) async fn beside<T: Send + 'static>(
    object: &'static str,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let ended = spawn_blocking(work).await;
    ended.unwrap_or_else(|error| Err(Fault::new(Class::Storage, object, error, machine::IS_A_BUG)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_panics_is_a_fault_of_one_request() {
        let fault =
            beside("the list of cases", || -> Result<(), Fault> { panic!("on purpose") }).await.unwrap_err();
        assert_eq!((fault.class, fault.object.as_str()), (Class::Storage, "the list of cases"));
        assert_eq!(beside("a number", || Ok(7)).await.unwrap(), 7);
    }
}
