//! The recipe's schema for editors (JSON Schema), made from the types, so that it cannot say anything else than they do.
//!
//! It holds keys and kinds of values. Ranges, and what goes with what, are for [`Recipe::check`](super::Recipe::check).

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::Recipe;

/// The file beside the recipes, as [`schema`] made it; a test compares the two. What makes it is not needed at run time, and is not linked.
pub const SCHEMA: &str = include_str!("../../../../recipes/recipe.schema.json");

/// The schema of a recipe, in draft 7, which editors' TOML extensions (taplo, Even Better TOML) know.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(fit_for_toml));
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<Recipe>();
    schema.insert("title".into(), "pinwise recipe".into());
    schema.to_value()
}

/// TOML has no null, and what an editor shows beside a key is read without rustdoc.
fn fit_for_toml(schema: &mut Schema) {
    let Some(keys) = schema.as_object_mut() else { return };
    without_null(keys);
    if let Some(Value::String(text)) = keys.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    }
}

/// Takes null out of types, choices and defaults; a choice of one that is left becomes part of `keys`.
fn without_null(keys: &mut Map<String, Value>) {
    if keys.get("default") == Some(&Value::Null) {
        keys.remove("default");
    }
    if let Some(Value::Array(types)) = keys.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = types.as_slice() {
            let kind = kind.clone();
            keys.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(choices)) = keys.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&"null".into()));
        if let [choice] = choices.as_slice() {
            let choice = choice.clone();
            keys.remove("anyOf");
            // Beside a reference draft 7 reads nothing, so it goes into a list of its own.
            keys.insert("allOf".into(), Value::Array(vec![choice]));
        }
    }
}
