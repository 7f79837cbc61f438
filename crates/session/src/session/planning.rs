//! Plans: what the session gives to planning, which plans it may run, and when a kept one is made again.
//!
//! Planning sees the session's settings, catalog and types of variables (`bound`), and notes what a statement uses; the session must be allowed
//! to use it (`authorize` before anything is done, `plan_noting` when a plan is made, `SessionAccess::may_run` when a kept plan runs).

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use vaquita_exec::catalog::PlanCatalog;
use vaquita_parser::ast::{Expr, Limit, Literal, Query};
use vaquita_parser::statement_kind::{Asks, Binds};
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{Place, PlanContext, bind_scalar, plan_statement, take_json_warnings};
use vaquita_plan::env::Level;
use vaquita_plan::explain;
use vaquita_plan::node::Plan;
use vaquita_plan::param_texts::ReadAs;
use vaquita_plan::params::{
    free_parameters, parameter_types, parameters_beside_texts, parameters_in_patterns, text_parameter, texts_read_as,
    type_at_place, type_of_parameter,
};
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::text::is_string;
use vaquita_plan::trace::trace;
use vaquita_plan::uses::{UseList, Uses};
use vaquita_storage::Interrupt;
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{ER_TOO_BIG_SELECT, ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::{Session, hinted};
use crate::accounts::binds;
use crate::state::environment::Environment;
use crate::state::prepared::{CachedPlan, PlanNotes, Planner, Prepared, Variable};
use crate::variables::settings::word;
use crate::variables::{Def, Var, registry};

impl Session {
    /// Error 1142 and its kin if the session may not run the statement.
    pub(super) fn authorize(&mut self, ast: &Ast) -> Result<()> {
        self.access.refresh();
        // MySQL finds it while it parses.
        self.check_locked_names(ast)?;
        let facts = StatementKind::of(ast).facts();
        // Also for an account that may do everything: the server's own schemas are nobody's to change.
        if !self.access.is_unlimited() || facts.asks == Asks::Syntax {
            let database = self.env.database();
            self.access.subject(database.as_deref(), Some(&self.catalog)).check(ast)?;
        }
        if self.access.is_unlimited() {
            return Ok(());
        }
        // What is bound here runs later: other errors are told then.
        let no_variables = PlanNotes::default();
        match facts.binds {
            Binds::Nothing | Binds::Plan | Binds::WhenItRuns => Ok(()),
            Binds::Scalars => binds::scalars(ast)
                .into_iter()
                .try_for_each(|expr| self.allows(&self.bound(&no_variables, |context| bind_scalar(expr, context)).1)),
            Binds::Query => binds::query(ast).map_or(Ok(()), |query| {
                let query = Ast::Query(Box::new(query.clone()));
                self.allows(&self.bound(&no_variables, |context| plan_statement(&query, context)).1)
            }),
        }
    }

    /// Whether the session may do what was bound.
    fn allows(&self, uses: &UseList) -> Result<()> {
        self.access.allows(uses, Some(&self.catalog))
    }

    pub(super) fn plan(&self, ast: &Ast, param_types: &[ColumnType]) -> Result<Plan> {
        let tell = |warning| self.env.push_warning(Level::Warning, warning);
        self.plan_noting(ast, Given::of_types(param_types, &[]), &PlanNotes::default(), &tell).map(|(plan, _)| plan)
    }

    /// A plan that the session may run, and what it uses; `notes` gets what is asked for, `tell` warnings of hints.
    fn plan_noting(&self, ast: &Ast, given: Given<'_>, notes: &PlanNotes, tell: &dyn Fn(Error)) -> Result<(Plan, UseList)> {
        let limited = self.with_select_limit(ast);
        let (plan, uses) = self.bound_for_run(given.values, notes, |context| {
            let (hint_warning, Given { types: param_types, patterns, .. }) = (Some(tell), given);
            plan_statement(limited.as_ref().unwrap_or(ast), &PlanContext { param_types, patterns, hint_warning, ..*context })
        });
        // What it may not use comes before what is wrong with it.
        self.allows(&uses)?;
        let plan = plan?;
        if self.env.settings.plan.safe_updates && plan.changes_without_key() {
            return Err(Error::new(&ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE, &[&""]));
        }
        if self.env.settings.traces {
            self.trace(limited.as_ref().unwrap_or(ast), &uses, given);
        }
        let settings = &self.env.settings.plan;
        if !settings.big_selects && explain::examines_more(&plan, settings.join_rows_max) {
            return Err(Error::new(&ER_TOO_BIG_SELECT, &[]));
        }
        Ok((plan, uses))
    }

    /// Keeps what the optimizer chose between, unless the statement reads such traces. Of views and programs of others it tells what EXPLAIN would.
    #[cold]
    fn trace(&self, ast: &Ast, uses: &UseList, Given { types: param_types, patterns, values }: Given<'_>) {
        const OWN: &str = "optimizer_trace";
        let text = self.client.snapshot().info.map(|text| text.trim().to_string()).unwrap_or_default();
        if text.to_ascii_lowercase().contains(OWN) {
            return;
        }
        let limits = self.env.settings.trace_limits();
        if self.access.is_definers() || self.access.may_explain(uses, &self.catalog).is_err() {
            return self.env.traces.borrow_mut().add(text, None, limits);
        }
        let notes = PlanNotes::default();
        let one_line = word(&self.env.settings.of(Var::OptimizerTrace)).contains("one_line=on");
        let traced = self
            .bound_for_run(values, &notes, |context| {
                trace(ast, &text, one_line, &PlanContext { param_types, patterns, ..*context })
            })
            .0;
        if let Ok(traced) = traced {
            self.env.traces.borrow_mut().add(text, Some(traced), limits);
        }
    }

    /// `sql_select_limit` is the LIMIT of a query that has none.
    fn with_select_limit(&self, ast: &Ast) -> Option<Ast> {
        let rows_max = self.env.settings.plan.select_rows_max;
        let Ast::Query(query) = ast else { return None };
        // It is not for statements of stored programs.
        if self.programs.variables || rows_max == u64::MAX || query.limit.is_some() {
            return None;
        }
        let count = Expr::Literal(Literal::Int(rows_max));
        Some(Ast::Query(Box::new(Query { limit: Some(Limit { offset: None, count }), ..Query::clone(query) })))
    }

    /// Runs `bind` with what planning may know of this session, which must be allowed to use what was bound.
    pub(super) fn with_plan_context<R>(&self, bind: impl FnOnce(&PlanContext<'_>) -> Result<R>) -> Result<R> {
        let (bound, uses) = self.bound(&PlanNotes::default(), bind);
        self.allows(&uses)?;
        bound
    }

    /// The same without asking: what was bound, or an error, and what it uses. `notes` gets what is asked for.
    pub(super) fn bound<R>(&self, notes: &PlanNotes, bind: impl FnOnce(&PlanContext<'_>) -> Result<R>) -> (Result<R>, UseList) {
        self.bound_for_run(&[], notes, bind)
    }

    /// The same of what runs first with these values of its parameters.
    pub(super) fn bound_for_run<R>(
        &self,
        values: &[Value],
        notes: &PlanNotes,
        bind: impl FnOnce(&PlanContext<'_>) -> Result<R>,
    ) -> (Result<R>, UseList) {
        let catalog = PlanCatalog::within(&self.catalog, self.transaction.shared());
        let catalog = catalog.for_run(&self.env, values, &notes.run);
        let settings = (&*self.env.settings.plan, self.programs.variables);
        bind_in(&catalog, settings, &self.env, &self.client.interrupt, notes, bind)
    }

    /// `types` are those of the first parameters; NULL's leaves it to where the parameter stands.
    pub(super) fn fresh_plan(&self, ast: &Ast, given: Given<'_>) -> Result<CachedPlan> {
        self.fresh_plan_telling(ast, given, true)
    }

    /// The same; `tells`: of hints that are ignored.
    fn fresh_plan_telling(&self, ast: &Ast, given: Given<'_>, tells: bool) -> Result<CachedPlan> {
        let catalog_version = self.catalog.version();
        let settings = Arc::clone(&self.env.settings.plan);
        let notes = PlanNotes::default();
        let tell = |warning| {
            if tells {
                self.env.push_warning(Level::Warning, warning);
            }
        };
        let (plan, uses) = self.plan_noting(ast, given, &notes, &tell)?;
        let (guessed, untrue, variables) = notes.into_parts();
        let allowed_under = AtomicU64::new(self.access.rights().serial);
        let has_definers = uses.has_definers();
        Ok(CachedPlan {
            shape: explain::shape(&plan),
            plan,
            types: given.types.into(),
            reads: Box::default(),
            binaries: Box::default(),
            beside_texts: Box::default(),
            in_patterns: Box::default(),
            patterns: given.patterns.into(),
            of_its_values: false,
            guessed,
            untrue,
            catalog_version,
            settings,
            variables,
            uses,
            allowed_under,
            has_definers,
        })
    }

    /// A plan with types for the free parameters: those of `values`, else those of the plan before, else what their places tell. Texts
    /// among `values` become what the plan reads them as.
    pub(super) fn typed_plan(
        &self,
        ast: &Ast,
        parameters: usize,
        values: &mut Cow<'_, [Value]>,
        before: Option<&CachedPlan>,
    ) -> Result<CachedPlan> {
        let mut plan = self.fresh_plan_telling(ast, Given { values, ..Given::default() }, before.is_none())?;
        let warnings = take_json_warnings(&mut plan.plan);
        if before.is_none() {
            // As MySQL: when it is prepared, and not when it runs.
            warnings.into_iter().for_each(|warning| self.env.push_warning(Level::Warning, warning));
        }
        if parameters == 0 {
            return Ok(plan);
        }
        let mut reads = texts_read_as(&plan.plan, parameters);
        let places = parameter_types(&plan.plan, parameters);
        let kept_texts = self.texts_not_read(&reads, &places, values);
        kept_texts.iter().for_each(|n| reads[*n] = None);
        if reads.iter().any(Option::is_some) {
            plan.reads = reads.into();
        }
        plan.of_its_values = !kept_texts.is_empty();
        let complaints = self.read_parameters(&plan, values);
        self.warn_of_parameters(&plan, complaints)?;
        plan.binaries = self.prepared.binaries().into();
        let free = free_parameters(&plan.plan, parameters);
        let mut beside_texts = parameters_beside_texts(&plan.plan, parameters);
        beside_texts.iter_mut().zip(&free).for_each(|(beside, free)| *beside &= !free);
        if beside_texts.contains(&true) {
            plan.beside_texts = beside_texts.into();
        }
        let in_patterns = parameters_in_patterns(&plan.plan, parameters);
        if in_patterns.contains(&true) {
            plan.in_patterns = in_patterns.into();
        }
        let patterns = plan.patterns_of(values, self.prepared.binaries());
        let beside_text = |n: usize| {
            let value = values.get(n).filter(|_| plan.beside_texts.get(n) == Some(&true))?;
            type_beside_text(value)
        };
        // Where a text is wanted it matters that the value is none.
        let is_binary = |n: usize| {
            let wants_text = places.get(n).is_none_or(|place| place.as_ref().is_none_or(is_string));
            wants_text && self.prepared.binaries().get(n) == Some(&true)
        };
        let is_typed = (0..parameters).all(|n| !free[n] && !is_binary(n) && beside_text(n).is_none()) && kept_texts.is_empty();
        if is_typed && patterns.is_empty() && plan.is_for(values, &self.env) {
            return Ok(plan);
        }
        let type_of = |n: usize| {
            let collation = self.collation_of_parameter(n);
            let last = before.and_then(|plan| plan.types.get(n)).filter(|ty| ty.kind != TypeKind::Null);
            let of_value = values.get(n).and_then(|value| type_of_parameter(value, collation));
            of_value.unwrap_or_else(|| type_at_place(last.or(places.get(n).and_then(Option::as_ref)), collation))
        };
        let types = free.iter().enumerate().map(|(n, free)| match free {
            true => type_of(n),
            false if is_binary(n) || kept_texts.contains(&n) => text_parameter(self.collation_of_parameter(n)),
            false => beside_text(n).unwrap_or_else(ColumnType::null),
        });
        let types = if is_typed { Vec::new() } else { types.collect() };
        self.plan_again(ast, Given { types: &types, patterns: &patterns, values }, &plan)
    }

    /// A plan for other types or patterns than `before`, which knows what its parameters are.
    fn plan_again(&self, ast: &Ast, given: Given<'_>, before: &CachedPlan) -> Result<CachedPlan> {
        let mut typed = self.fresh_plan_telling(ast, given, false)?;
        take_json_warnings(&mut typed.plan);
        Ok(CachedPlan {
            reads: before.reads.clone(),
            beside_texts: before.beside_texts.clone(),
            in_patterns: before.in_patterns.clone(),
            binaries: before.binaries.clone(),
            of_its_values: before.of_its_values,
            ..typed
        })
    }

    /// That of a text or a binary string among the values.
    pub(super) fn collation_of_parameter(&self, n: usize) -> CollationId {
        match self.prepared.binaries().get(n) {
            Some(true) => CollationId::BINARY,
            _ => self.env.connection_collation(),
        }
    }

    /// Texts that stay texts, whatever their places ask for. If a number is sent where a text is expected, or a fraction for an integer, MySQL
    /// prepares the statement again with the types of all values, so that no text is converted. One that is a value of the kind that its
    /// place asks for is read all the same: the answer is the same, and an index finds it.
    fn texts_not_read(&self, reads: &[Option<ReadAs>], places: &[Option<ColumnType>], values: &[Value]) -> Vec<usize> {
        let fits = |(value, place): (&Value, &Option<ColumnType>)| fits_place(value, place.as_ref());
        if values.iter().zip(places).all(fits) {
            return Vec::new();
        }
        let settings = &self.env.settings.plan;
        let is_wrong = |(value, read_as): (&Value, &Option<ReadAs>)| {
            matches!(value, Value::Bytes(_))
                && read_as.and_then(|read_as| read_as.read(value, settings)).is_some_and(|(_, c)| c.is_some())
        };
        let found = values.iter().zip(reads).enumerate().filter(|(_, pair)| is_wrong(*pair));
        found.map(|(n, _)| n).collect()
    }

    /// Texts become what the plan reads them as; what is wrong with them.
    fn read_parameters(&self, plan: &CachedPlan, values: &mut Cow<'_, [Value]>) -> Vec<Error> {
        let mut complaints = Vec::new();
        for (n, read_as) in plan.reads.iter().enumerate() {
            let settings = &self.env.settings.plan;
            let read = read_as.zip(values.get(n)).and_then(|(read_as, value)| read_as.read(value, settings));
            let Some((value, complaint)) = read else { continue };
            complaints.extend(complaint);
            if let Some(slot) = values.to_mut().get_mut(n) {
                *slot = value;
            }
        }
        complaints
    }

    /// What is wrong with a text is a warning, or an error of a strict change.
    fn warn_of_parameters(&self, plan: &CachedPlan, complaints: Vec<Error>) -> Result<()> {
        for error in complaints {
            if sql_mode::is_strict(self.env.settings.plan.sql_mode) && fails_of_warnings(&plan.plan) {
                return Err(error);
            }
            self.env.push_warning(Level::Warning, error);
        }
        Ok(())
    }

    /// The plan with the types that free parameters have.
    fn is_typed_for(&self, plan: &CachedPlan, values: &[Value]) -> bool {
        if *plan.binaries != *self.prepared.binaries() {
            return false;
        }
        let is_typed = |(n, (ty, value)): (usize, (&ColumnType, &Value))| {
            let of_value = || type_of_parameter(value, self.collation_of_parameter(n));
            ty.kind == TypeKind::Null || of_value().is_none_or(|of_value| of_value == *ty)
        };
        let fits_text = |(n, (beside, value)): (usize, (&bool, &Value))| {
            let is_text = plan.types.get(n).is_none_or(|ty| ty.kind == TypeKind::Null);
            !beside || value.is_null() || is_text == type_beside_text(value).is_none()
        };
        plan.types.iter().zip(values).enumerate().all(is_typed) && plan.beside_texts.iter().zip(values).enumerate().all(fits_text)
    }

    /// The plan that a prepared statement has kept if it is still good, or a new one; the session may run it. And the values as the plan
    /// reads them.
    pub(super) fn plan_to_run<'v>(
        &mut self,
        prepared: &Prepared,
        values: &'v [Value],
    ) -> Result<(Arc<CachedPlan>, Cow<'v, [Value]>)> {
        let mut values = Cow::Borrowed(values);
        let kept = prepared.plan.as_ref();
        if let Some(kept) = kept.filter(|kept| self.is_current(kept)) {
            let mut read = values.clone();
            let complaints = self.read_parameters(kept, &mut read);
            let fits = complaints.is_empty() || fits_places(kept, &values);
            if fits && !kept.of_its_values && self.is_typed_for(kept, &read) {
                self.warn_of_parameters(kept, complaints)?;
                let patterns = kept.patterns_of(&read, self.prepared.binaries());
                if patterns != kept.patterns || kept.guessed.is_outgrown() || !kept.is_for(&read, &self.env) {
                    self.authorize(&prepared.ast)?;
                    let given = Given { types: &kept.types, patterns: &patterns, values: &read };
                    let plan = self.plan_again(&prepared.ast, given, kept)?;
                    return Ok((Arc::new(plan), read));
                }
                self.access.may_run(kept, &self.catalog)?;
                return Ok((kept.clone(), read));
            }
        }
        self.authorize(&prepared.ast)?;
        let plan = self.typed_plan(&prepared.ast, prepared.parameters, &mut values, kept.map(|kept| &**kept))?;
        Ok((Arc::new(plan), values))
    }
}

/// What a plan is made for, of the parameters in their order.
#[derive(Clone, Copy, Default)]
pub(super) struct Given<'a> {
    pub types: &'a [ColumnType],
    /// `CachedPlan::patterns`.
    pub patterns: &'a [Option<Box<[u8]>>],
    /// What they are when the plan runs first, as far as that is known.
    pub values: &'a [Value],
}

impl<'a> Given<'a> {
    pub fn of_types(types: &'a [ColumnType], values: &'a [Value]) -> Given<'a> {
        Given { types, patterns: &[], values }
    }
}

/// The values are of the kinds that their places ask for, where these decide.
fn fits_places(plan: &CachedPlan, values: &[Value]) -> bool {
    let places = parameter_types(&plan.plan, values.len());
    let is_typed = |n: usize| plan.types.get(n).is_some_and(|ty| ty.kind != TypeKind::Null);
    values.iter().zip(&places).enumerate().all(|(n, (value, place))| is_typed(n) || fits_place(value, place.as_ref()))
}

/// A statement that was prepared for a value of type `place` runs with this one.
fn fits_place(value: &Value, place: Option<&ColumnType>) -> bool {
    let is_whole = matches!(value, Value::Int(_) | Value::UInt(_));
    let is_number = is_whole || matches!(value, Value::Decimal(_) | Value::Float(_));
    match place {
        _ if !is_number => true,
        Some(ty) if ty.kind == TypeKind::Decimal => !matches!(value, Value::Float(_)),
        Some(ty) if matches!(ty.kind, TypeKind::Float | TypeKind::Double) => true,
        Some(ty) if ty.is_integer() || matches!(ty.kind, TypeKind::Year | TypeKind::Bit) => is_whole,
        _ => false,
    }
}

/// The type that a parameter beside a text has for this value: a number's; none if it is as good as a text.
fn type_beside_text(value: &Value) -> Option<ColumnType> {
    let is_number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Decimal(_));
    if is_number { type_of_parameter(value, CollationId::default()) } else { None }
}

/// What planning may know: of `env`, but for the settings, with which comes whether `?` are variables of a program.
#[inline]
pub(super) fn bind_in<R>(
    catalog: &PlanCatalog<'_>,
    settings: (&PlanSettings, bool),
    env: &Environment,
    interrupt: &Interrupt,
    notes: &PlanNotes,
    bind: impl FnOnce(&PlanContext<'_>) -> Result<R>,
) -> (Result<R>, UseList) {
    let uses = Uses::default();
    let mut context = PlanContext::new(catalog, Place::Statement(&uses));
    (context.settings, context.variables) = settings;
    let user_var_type = |name: &str| notes.note(Variable::User(name.into()), env);
    let sys_var_type = |name: &str| notes.note(Variable::System(name.into()), env).map_or_else(|| env.sys_var_type(name), Ok);
    context.user_var_type = Some(&user_var_type);
    context.sys_var_type = Some(&sys_var_type);
    context.sys_var_warning = Some(&|name: &str| registry().find(name).and_then(Def::deprecation));
    context.fold = true;
    let check_interrupt = || interrupt.check();
    context.check_interrupt = Some(&check_interrupt);
    let bound = bind(&context);
    (bound, uses.into_list())
}

/// In strict mode: it changes data and has no IGNORE.
fn fails_of_warnings(plan: &Plan) -> bool {
    match plan {
        Plan::Query(_) => false,
        Plan::Insert(insert) => !insert.ignore,
        Plan::Update(update) => !update.ignore,
        Plan::Delete(delete) => !delete.ignore,
    }
}

impl Planner for Session {
    fn settings(&self) -> &Arc<PlanSettings> {
        &self.env.settings.plan
    }

    fn quiet_plan(&self, ast: &Ast, types: &[ColumnType], values: &[Value]) -> Option<CachedPlan> {
        // It is planned under other settings.
        if !hinted::variables(ast).is_empty() {
            return None;
        }
        let plan = self.fresh_plan(ast, Given::of_types(types, values)).ok();
        if self.env.diagnostics.count() > 0 {
            self.env.begin_statement();
            return None;
        }
        plan
    }

    #[inline]
    fn is_current(&self, plan: &CachedPlan) -> bool {
        plan.is_current(self.catalog.version(), &self.env)
    }

    #[inline]
    fn is_for(&self, plan: &CachedPlan, values: &[Value]) -> bool {
        plan.is_for(values, &self.env)
    }
}
