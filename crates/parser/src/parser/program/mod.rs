//! Bodies of stored programs: statements of the language around SQL, resolved and flattened as they are read (`ast::program`).
//!
//! What MySQL's parser refuses in a body is refused here, with its errors: names that are not declared or declared twice, declarations in
//! the wrong order, labels that do not match, statements that no program may hold.

mod declarations;
mod names;
mod rows;

use std::collections::{HashMap, HashSet};

use vaquita_types::errno::{self, ErrorDef};
use vaquita_types::limits::PROGRAM_STEPS_MAX;

use super::{Parser, Result};
use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};
use crate::statement_kind::StatementKind;
use names::Names;

/// The program that is being read.
#[derive(Default)]
pub(super) struct Builder {
    pub program: Program,
    /// The parameters belong to the first.
    blocks: Vec<Block>,
    variables: Names<usize>,
    conditions: Names<Condition>,
    cursors: Names<usize>,
    labels: Vec<Label>,
    /// Whose handlers see what comes next.
    scope: usize,
    is_function: bool,
    /// The rows that a trigger has.
    trigger: Option<(TriggerTime, TriggerEvent)>,
    /// The columns of OLD and of NEW that it has named, with their places in `Program::row_columns`.
    row_columns: HashMap<(bool, String), usize>,
}

#[derive(Default)]
struct Block {
    handled: HashSet<Condition>,
    /// Ends of EXIT handlers, which go to the end of the block.
    exits: Vec<usize>,
    /// The scope of its handlers.
    scope: Option<usize>,
}

struct Label {
    name: String,
    /// ITERATE goes here; `None` for a block.
    start: Option<usize>,
    /// Steps that jump to its end.
    leaves: Vec<usize>,
    /// Cursors that are declared further inside are closed by LEAVE and ITERATE.
    cursors: usize,
    /// In a handler the labels around it are not seen.
    is_barrier: bool,
}

fn error<T>(def: &'static ErrorDef, args: &[&dyn std::fmt::Display]) -> Result<T> {
    Err(ParseError::other(def, vaquita_types::Error::new(def, args).message().to_string()))
}

impl Builder {
    pub fn new(is_function: bool) -> Builder {
        let mut builder = Builder { is_function, blocks: vec![Block::default()], ..Builder::default() };
        builder.program.scopes.push(Scope::default());
        builder
    }

    pub fn of_trigger(time: TriggerTime, event: TriggerEvent) -> Builder {
        Builder { trigger: Some((time, event)), ..Builder::new(false) }
    }

    pub fn variable(&self, name: &str) -> Option<usize> {
        self.variables.find(name)
    }

    /// Parameters are declared in the outermost block, variables in the innermost.
    pub fn declare(&mut self, variable: Variable, is_parameter: bool) -> Result<()> {
        let slot = self.program.variables.len();
        if !self.variables.declare(self.blocks.len(), &variable.name, slot) {
            return error(if is_parameter { &errno::ER_SP_DUP_PARAM } else { &errno::ER_SP_DUP_VAR }, &[&variable.name]);
        }
        self.program.variables.push(variable);
        Ok(())
    }

    fn next(&self) -> usize {
        self.program.steps.len()
    }

    fn emit(&mut self, instruction: Instruction) -> Result<usize> {
        if self.next() >= PROGRAM_STEPS_MAX {
            return error(&errno::ER_OUT_OF_RESOURCES, &[]);
        }
        self.program.steps.push(Step { instruction, scope: self.scope, text: None });
        Ok(self.next() - 1)
    }

    /// A jump whose target is the next step after all.
    fn land(&mut self, at: usize) {
        let next = self.next();
        match self.program.steps.get_mut(at).map(|step| &mut step.instruction) {
            Some(Instruction::Jump(target) | Instruction::JumpUnless { target, .. }) => *target = next,
            Some(Instruction::EndHandler { exit }) => *exit = Some(next),
            _ => {}
        }
    }

    /// Conditions go on behind the whole statement, which ends here.
    fn end_conditions(&mut self, conditions: &[usize]) {
        let next = self.next();
        for at in conditions {
            if let Some(Instruction::JumpUnless { after, .. }) = self.program.steps.get_mut(*at).map(|step| &mut step.instruction)
            {
                *after = next;
            }
        }
    }

    fn cursors(&self) -> usize {
        self.program.cursors.len()
    }

    /// The exits of the block's handlers.
    fn end_block(&mut self) -> Vec<usize> {
        let block = self.blocks.len();
        self.variables.end(block);
        self.conditions.end(block);
        self.cursors.end(block);
        self.blocks.pop().map(|block| block.exits).unwrap_or_default()
    }

    /// The present block has a cursor or a handler.
    fn is_behind_cursors(&self) -> bool {
        self.cursors.has_any_of(self.blocks.len()) || self.is_behind_handlers()
    }

    fn is_behind_handlers(&self) -> bool {
        self.blocks.last().is_some_and(|block| block.scope.is_some())
    }

    fn condition(&self, name: &str) -> Result<Condition> {
        match self.conditions.find(name) {
            Some(condition) => Ok(condition),
            None => error(&errno::ER_SP_COND_MISMATCH, &[&name]),
        }
    }

    fn cursor(&self, name: &str) -> Result<usize> {
        match self.cursors.find(name) {
            Some(cursor) => Ok(cursor),
            None => error(&errno::ER_SP_CURSOR_MISMATCH, &[&name]),
        }
    }
}

impl Parser<'_> {
    fn builder(&mut self) -> Result<&mut Builder> {
        if self.program.is_none() {
            return self.fail();
        }
        Ok(self.program.get_or_insert_default())
    }

    fn emit(&mut self, instruction: Instruction) -> Result<usize> {
        self.builder()?.emit(instruction)
    }

    /// The place of a program's variable.
    pub(super) fn variable_named(&self, name: &str) -> Option<usize> {
        self.program.as_ref().and_then(|program| program.variable(name))
    }

    pub(super) fn variable_slot(&self, name: &str) -> Result<usize> {
        self.variable_named(name).map_or_else(|| error(&errno::ER_SP_UNDECLARED_VAR, &[&name]), Ok)
    }

    /// `@a` or a variable of the program.
    pub(super) fn into_target(&mut self) -> Result<IntoTarget> {
        if !self.at_ident() {
            return self.at_name().map(IntoTarget::UserVar);
        }
        let name = self.ident()?;
        self.variable_slot(&name).map(IntoTarget::Variable)
    }

    /// A body up to its end, with the parameters declared: the program.
    pub(super) fn program_body(&mut self, builder: Builder) -> Result<Program> {
        self.program = Some(Box::new(builder));
        let read = self.program_statement();
        let builder = self.program.take();
        read?;
        match builder {
            Some(builder) => Ok(builder.program),
            None => self.fail(),
        }
    }

    fn program_statement(&mut self) -> Result<()> {
        self.enclosed(Self::program_statement_inner)
    }

    fn program_statement_inner(&mut self) -> Result<()> {
        if self.at_ident() && self.peek() == Tok::Op(Op::Colon) {
            let label = self.ident()?;
            self.bump();
            return match self.kind() {
                Tok::Kw(kw @ (Kw::BEGIN | Kw::LOOP | Kw::WHILE | Kw::REPEAT)) => self.labelled(kw, Some(label)),
                _ => self.fail(),
            };
        }
        let Tok::Kw(kw) = self.kind() else { return self.program_sql() };
        match kw {
            Kw::BEGIN | Kw::LOOP | Kw::WHILE => self.labelled(kw, None),
            Kw::REPEAT if self.peek() != Tok::Op(Op::LParen) => self.labelled(kw, None),
            Kw::IF => self.if_statement(),
            Kw::CASE => self.case_statement(),
            Kw::LEAVE | Kw::ITERATE => self.leave_or_iterate(kw == Kw::LEAVE),
            Kw::RETURN => self.return_statement(),
            Kw::OPEN | Kw::CLOSE => {
                self.bump();
                let name = self.ident()?;
                let cursor = self.builder()?.cursor(&name)?;
                self.emit(if kw == Kw::OPEN { Instruction::Open(cursor) } else { Instruction::Close(cursor) })?;
                Ok(())
            }
            Kw::FETCH => self.fetch_statement(),
            Kw::SET => self.program_set(),
            _ => self.program_sql(),
        }
    }

    /// Statements with semicolons, up to one of the words: at least one.
    fn program_statements(&mut self, ends: &[Kw]) -> Result<()> {
        if self.is_any(ends) {
            return self.fail();
        }
        self.statements_of_block(ends)
    }

    fn statements_of_block(&mut self, ends: &[Kw]) -> Result<()> {
        while !self.is_any(ends) {
            self.program_statement()?;
            self.expect_op(Op::Semicolon)?;
        }
        Ok(())
    }

    fn program_sql(&mut self) -> Result<()> {
        self.into_allowed = true;
        let start = self.start();
        let statement = self.statement()?;
        refuse_in_program(&statement, self.builder()?.host())?;
        let text = Some(self.text_since(start).into_boxed_str());
        let at = self.emit(Instruction::Run(Box::new(statement)))?;
        if let Some(step) = self.builder()?.program.steps.get_mut(at) {
            step.text = text;
        }
        Ok(())
    }

    fn labelled(&mut self, kw: Kw, label: Option<String>) -> Result<()> {
        let builder = self.builder()?;
        if let Some(name) = &label {
            let seen = builder.labels.iter().rev().take_while(|label| !label.is_barrier);
            if seen.into_iter().any(|label| label.name.eq_ignore_ascii_case(name)) {
                return error(&errno::ER_SP_LABEL_REDEFINE, &[name]);
            }
        }
        let start = (kw != Kw::BEGIN).then(|| builder.next());
        let cursors = builder.cursors();
        let name = label.clone().unwrap_or_default();
        builder.labels.push(Label { name, start, leaves: Vec::new(), cursors, is_barrier: false });
        match kw {
            Kw::BEGIN => self.block()?,
            Kw::LOOP => {
                self.bump();
                self.program_statements(&[Kw::END])?;
                self.emit(Instruction::Jump(start.unwrap_or_default()))?;
                self.expect_all(&[Kw::END, Kw::LOOP])?;
            }
            Kw::WHILE => {
                self.bump();
                let condition = self.expr()?;
                let jump = self.emit(Instruction::JumpUnless { condition, target: 0, after: 0 })?;
                self.expect(Kw::DO)?;
                self.program_statements(&[Kw::END])?;
                self.emit(Instruction::Jump(start.unwrap_or_default()))?;
                self.expect_all(&[Kw::END, Kw::WHILE])?;
                self.builder()?.land(jump);
                self.builder()?.end_conditions(&[jump]);
            }
            _ => {
                self.bump();
                self.program_statements(&[Kw::UNTIL])?;
                self.bump();
                let condition = self.expr()?;
                let jump = self.emit(Instruction::JumpUnless { condition, target: start.unwrap_or_default(), after: 0 })?;
                self.expect_all(&[Kw::END, Kw::REPEAT])?;
                self.builder()?.end_conditions(&[jump]);
            }
        }
        if self.at_ident() {
            let name = self.ident()?;
            if !label.is_some_and(|label| label.eq_ignore_ascii_case(&name)) {
                return error(&errno::ER_SP_LABEL_MISMATCH, &[&name]);
            }
        }
        let builder = self.builder()?;
        for at in builder.labels.pop().map(|label| label.leaves).unwrap_or_default() {
            builder.land(at);
        }
        Ok(())
    }

    /// BEGIN declarations statements END
    fn block(&mut self) -> Result<()> {
        self.bump();
        let builder = self.builder()?;
        let (outer, cursors) = (builder.scope, builder.cursors());
        builder.blocks.push(Block::default());
        while self.is(Kw::DECLARE) {
            self.bump();
            self.declaration(outer)?;
            self.expect_op(Op::Semicolon)?;
        }
        let builder = self.builder()?;
        if let Some(scope) = builder.blocks.last().and_then(|block| block.scope) {
            builder.scope = scope;
        }
        self.statements_of_block(&[Kw::END])?;
        self.bump();
        let builder = self.builder()?;
        builder.scope = outer;
        for at in builder.end_block() {
            builder.land(at);
        }
        if builder.cursors() > cursors {
            let all = cursors..builder.cursors();
            self.emit(Instruction::CloseAll(all))?;
        }
        Ok(())
    }

    fn if_statement(&mut self) -> Result<()> {
        let (mut conditions, mut ends) = (Vec::new(), Vec::new());
        loop {
            self.bump();
            let condition = self.expr()?;
            let jump = self.emit(Instruction::JumpUnless { condition, target: 0, after: 0 })?;
            conditions.push(jump);
            self.expect(Kw::THEN)?;
            self.program_statements(&[Kw::ELSEIF, Kw::ELSE, Kw::END])?;
            let otherwise = self.is_any(&[Kw::ELSEIF, Kw::ELSE]);
            if otherwise {
                ends.push(self.emit(Instruction::Jump(0))?);
            }
            self.builder()?.land(jump);
            if !self.is(Kw::ELSEIF) {
                break;
            }
        }
        if self.eat(Kw::ELSE) {
            self.program_statements(&[Kw::END])?;
        }
        self.expect_all(&[Kw::END, Kw::IF])?;
        self.end_branches(conditions, ends)
    }

    fn case_statement(&mut self) -> Result<()> {
        self.bump();
        let operand = if self.is(Kw::WHEN) { None } else { Some(self.expr()?) };
        let place = match operand {
            None => None,
            Some(value) => {
                let builder = self.builder()?;
                let variable = builder.program.variables.len();
                builder.program.variables.push(Variable { name: String::new(), mode: None, ty: None });
                builder.emit(Instruction::Set { variable, value: Some(value) })?;
                Some(variable)
            }
        };
        let (mut conditions, mut ends) = (Vec::new(), Vec::new());
        while self.eat(Kw::WHEN) {
            let mut condition = self.expr()?;
            if let Some(place) = place {
                let (left, right) = (Box::new(Expr::Param(place)), Box::new(condition));
                condition = Expr::Binary { op: BinaryOp::Eq, left, right };
            }
            let jump = self.emit(Instruction::JumpUnless { condition, target: 0, after: 0 })?;
            conditions.push(jump);
            self.expect(Kw::THEN)?;
            self.program_statements(&[Kw::WHEN, Kw::ELSE, Kw::END])?;
            ends.push(self.emit(Instruction::Jump(0))?);
            self.builder()?.land(jump);
        }
        if conditions.is_empty() {
            return self.fail();
        }
        if self.eat(Kw::ELSE) {
            self.program_statements(&[Kw::END])?;
        } else {
            self.emit(Instruction::CaseNotFound)?;
        }
        self.expect_all(&[Kw::END, Kw::CASE])?;
        self.end_branches(conditions, ends)
    }

    fn end_branches(&mut self, conditions: Vec<usize>, ends: Vec<usize>) -> Result<()> {
        let builder = self.builder()?;
        ends.into_iter().for_each(|at| builder.land(at));
        builder.end_conditions(&conditions);
        Ok(())
    }

    fn leave_or_iterate(&mut self, leave: bool) -> Result<()> {
        self.bump();
        let name = self.ident()?;
        let builder = self.builder()?;
        let seen = builder.labels.iter().rposition(|label| label.is_barrier).map_or(0, |at| at + 1);
        let fits =
            |label: &Label| label.name.eq_ignore_ascii_case(&name) && !label.name.is_empty() && (leave || label.start.is_some());
        let Some(at) = builder.labels.iter().rposition(fits).filter(|at| *at >= seen) else {
            return error(&errno::ER_SP_LILABEL_MISMATCH, &[if leave { &"LEAVE" } else { &"ITERATE" }, &name]);
        };
        let (open, start) = (builder.labels[at].cursors, builder.labels[at].start);
        if builder.cursors() > open {
            let inner = open..builder.cursors();
            builder.emit(Instruction::CloseAll(inner))?;
        }
        let jump = builder.emit(Instruction::Jump(start.unwrap_or_default()))?;
        if leave {
            builder.labels[at].leaves.push(jump);
        }
        Ok(())
    }

    fn return_statement(&mut self) -> Result<()> {
        self.bump();
        if !self.builder()?.is_function {
            return error(&errno::ER_SP_BADRETURN, &[]);
        }
        let value = self.expr()?;
        self.emit(Instruction::Return(value))?;
        Ok(())
    }

    fn fetch_statement(&mut self) -> Result<()> {
        self.bump();
        if self.eat(Kw::NEXT) {
            self.expect(Kw::FROM)?;
        } else {
            self.eat(Kw::FROM);
        }
        let name = self.ident()?;
        let cursor = self.builder()?.cursor(&name)?;
        self.expect(Kw::INTO)?;
        let into = self.comma_list(|p| {
            let name = p.ident()?;
            p.variable_slot(&name)
        })?;
        self.emit(Instruction::Fetch { cursor, into })?;
        Ok(())
    }

    /// Assignments one by one, each seeing those before it.
    fn program_set(&mut self) -> Result<()> {
        let whole = [Kw::PASSWORD, Kw::ROLE, Kw::RESOURCE, Kw::TRANSACTION, Kw::DEFAULT];
        if matches!(self.peek(), Tok::Kw(kw) if whole.contains(&kw)) {
            return self.program_sql();
        }
        self.bump();
        let mut scope = VarScope::Default;
        let mut first = true;
        loop {
            self.program_assignment(&mut scope, first)?;
            first = false;
            if !self.eat_op(Op::Comma) {
                return Ok(());
            }
        }
    }

    fn program_assignment(&mut self, scope: &mut VarScope, first: bool) -> Result<()> {
        if *scope == VarScope::Default
            && let Some(variable) = self.row_column_to_set()?
        {
            let value = Some(self.expr()?);
            self.emit(Instruction::Set { variable, value })?;
            return Ok(());
        }
        if self.at_ident() && matches!(self.peek(), Tok::Op(Op::Eq | Op::Assign)) && *scope == VarScope::Default {
            let name = String::from_utf8_lossy(self.text()).trim_matches('`').replace("``", "`");
            if let Some(variable) = self.variable_named(&name) {
                self.bump();
                self.bump();
                let value = Some(self.expr()?);
                self.emit(Instruction::Set { variable, value })?;
                return Ok(());
            }
        }
        let instruction = match self.set_item(scope, first)? {
            SetItem::UserVar { name, value } => Instruction::SetUserVar { name, value },
            other => {
                let statement = Statement::Set(vec![other]);
                refuse_in_program(&statement, self.builder()?.host())?;
                Instruction::Run(Box::new(statement))
            }
        };
        self.emit(instruction)?;
        Ok(())
    }
}

/// Statements that MySQL lets no program hold, or no function or trigger, which is the `host`.
fn refuse_in_program(statement: &Statement, host: Option<&str>) -> Result<()> {
    let what = match statement {
        Statement::Use(_) => "USE",
        Statement::LockTables(_) => "LOCK",
        Statement::UnlockTables => "UNLOCK",
        Statement::LoadData(_) => "LOAD DATA",
        Statement::Handler(_) => "HANDLER",
        Statement::Help(_) => "HELP",
        Statement::TableMaintenance(TableMaintenance { kind: MaintenanceKind::Check, .. }) => "CHECK",
        Statement::CreateView(view) if view.alter => "ALTER VIEW",
        Statement::Explain(explain) if matches!(explain.target, ExplainTarget::Connection(_)) => {
            let what = vaquita_types::Error::unsupported("non-standalone EXPLAIN FOR CONNECTION");
            return Err(ParseError::other(&errno::ER_NOT_SUPPORTED_YET, what.message().to_string()));
        }
        _ => return host.map_or(Ok(()), |host| refuse_in_function(statement, host)),
    };
    error(&errno::ER_SP_BADSTATEMENT, &[&what])
}

/// Statements that MySQL lets no function and no trigger hold, nor a procedure that one calls. `host` is which of them it is.
pub fn refuse_in_function(statement: &Statement, host: &str) -> Result<()> {
    let kind = StatementKind::of(statement);
    match statement {
        Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_) => {
            error(&errno::ER_STMT_NOT_ALLOWED_IN_SF_OR_TRG, &[&"Dynamic SQL"])
        }
        Statement::Flush(_) => error(&errno::ER_STMT_NOT_ALLOWED_IN_SF_OR_TRG, &[&"FLUSH"]),
        Statement::Reset(_) | Statement::ResetReplica(_) => error(&errno::ER_STMT_NOT_ALLOWED_IN_SF_OR_TRG, &[&"RESET"]),
        Statement::Set(items) if items.iter().any(is_autocommit) => error(&errno::ER_SP_CANT_SET_AUTOCOMMIT, &[]),
        Statement::Query(query) if query.into.is_some() => Ok(()),
        // MySQL lets some of them through and sends what no client expects.
        _ if gives_rows(statement) => error(&errno::ER_SP_NO_RETSET, &[&host]),
        Statement::StartTransaction { .. } | Statement::Commit(_) | Statement::Rollback(_) => {
            error(&errno::ER_COMMIT_NOT_ALLOWED_IN_SF_OR_TRG, &[])
        }
        // MySQL says so when they run.
        _ if kind == StatementKind::SetDefaultRole => Ok(()),
        _ if kind.facts().commits => error(&errno::ER_COMMIT_NOT_ALLOWED_IN_SF_OR_TRG, &[]),
        _ => Ok(()),
    }
}

/// MySQL takes SET PASSWORD for it, too.
fn is_autocommit(item: &SetItem) -> bool {
    match item {
        SetItem::SysVar { component: None, name, .. } => name.eq_ignore_ascii_case("autocommit"),
        SetItem::Password(_) => true,
        _ => false,
    }
}

fn gives_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Show(_)
            | Statement::Describe { .. }
            | Statement::Explain(_)
            | Statement::TableMaintenance(_)
            | Statement::Xa(Xa::Recover { .. })
    )
}
