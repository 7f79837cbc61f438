//! What performance_schema tells of variables: `variables_info`, `variables_metadata` and `persisted_variables`.

use std::collections::HashMap;

use vaquita_exec::context::VariableInfo;
use vaquita_storage::Catalog;

use super::globals::persisted;
use super::{Globals, Kind, Scope, registry};

/// By name.
pub fn infos(globals: &Globals, catalog: &Catalog) -> Vec<VariableInfo> {
    // Without what cannot be read nothing is persisted.
    let mut stored: HashMap<String, String> = persisted(catalog).unwrap_or_default().into_iter().collect();
    let describe = |def: &super::Def| {
        let (data_type, min, max) = match &def.kind {
            Kind::Bool => ("Boolean", String::new(), String::new()),
            Kind::Int { min, max, .. } => ("Integer", min.to_string(), max.to_string()),
            Kind::Number { min, max } => ("Numeric", min.to_string(), max.to_string()),
            Kind::Enum(_) => ("Enumeration", String::new(), String::new()),
            Kind::Set(_) | Kind::Flags(_) | Kind::SqlMode => ("Set", String::new(), String::new()),
            Kind::Text => ("String", String::new(), String::new()),
        };
        let scope = match def.scope {
            Scope::Global => "GLOBAL",
            Scope::Both => "SESSION",
            Scope::Session => "SESSION_ONLY",
        };
        let persisted = stored.remove(def.name);
        let source = match &persisted {
            Some(_) => "PERSISTED",
            None if def.scope != Scope::Session && globals.get(def) != def.default => "DYNAMIC",
            None => "COMPILED",
        };
        let set_by = globals.setter(def).map(|by| (by.at_us, by.user, by.host));
        VariableInfo { name: def.name, scope, data_type, min, max, prose: def.prose, source, persisted, set_by }
    };
    registry().defs.iter().map(describe).collect()
}
