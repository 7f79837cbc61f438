//! Window functions.
//!
//! All rows of the input are kept. While a row is in the frame the arguments of every function are evaluated and
//! its place in every window is encoded as a key: PARTITION BY, then ORDER BY. Functions over the same window share one
//! sort. Then each partition's results are computed (`function`) over frames (`frame`), and the rows are given
//! in the order of the last window that has one. When the rows have no room they go to disk (`spilled`).

mod frame;
mod function;
mod partition;
mod spilled;

use vaquita_plan::expr::Slot;
use vaquita_plan::node::{Node, WindowFunction};
use vaquita_plan::visit;
use vaquita_types::errno::ER_OUT_OF_RESOURCES;
use vaquita_types::{Error, Result, Value};

use self::frame::{FrameOf, RangePart};
use self::function::Kind;
use self::partition::InMemory;
use self::spilled::{Layout, Spilled};
use super::slots::refills;
use super::sort::Keys;
use super::{Builder, Frame, Operator, Pulse, key};
use crate::context::{Execution, Kept, Rows, heap_bytes};

/// PARTITION BY and ORDER BY that some functions share.
struct Spec {
    /// A function that has them.
    of: usize,
    keys: Keys,
    /// How much of each row's key is PARTITION BY.
    partition_lens: Vec<usize>,
}

pub struct Window<'p> {
    input: Box<dyn Operator + 'p>,
    windows: &'p [WindowFunction],
    saved: &'p [Slot],
    takes_slots: bool,
    rows: Rows,
    /// All functions' arguments, one after the other.
    args: Rows,
    specs: Vec<Spec>,
    /// Each function's place in `specs`.
    spec_of: Vec<usize>,
    /// Each function's results by row.
    results: Vec<Vec<Value>>,
    order: Vec<u32>,
    at: usize,
    kept: Kept,
    kept_results: Kept,
    kinds: Vec<Kind>,
    frames: Vec<FrameOf>,
    /// All rows, if there are too many.
    spilled: Option<Box<Spilled>>,
    pulse: Pulse,
}

impl<'p> Window<'p> {
    pub fn new(input: &'p Node, windows: &'p [WindowFunction], saved: &'p [Slot], builder: Builder<'_>) -> Window<'p> {
        let mut specs: Vec<Spec> = Vec::new();
        let mut spec_of = Vec::with_capacity(windows.len());
        for (n, window) in windows.iter().enumerate() {
            let found = specs.iter().position(|s| windows.get(s.of).is_some_and(|w| same_window(w, window)));
            spec_of.push(found.unwrap_or(specs.len()));
            if found.is_none() {
                specs.push(Spec { of: n, keys: Keys::default(), partition_lens: Vec::new() });
            }
        }
        Window {
            input: builder.build(input),
            windows,
            saved,
            takes_slots: refills(input),
            rows: Rows::new(saved.len()),
            args: Rows::new(windows.iter().map(|w| w.args.len()).sum()),
            specs,
            spec_of,
            results: Vec::new(),
            order: Vec::new(),
            at: 0,
            kept: Kept::default(),
            kept_results: Kept::default(),
            kinds: Vec::new(),
            frames: Vec::new(),
            spilled: None,
            pulse: Pulse::default(),
        }
    }

    fn read(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        let mut args = Vec::new();
        self.input.open(frame)?;
        while self.input.next(frame)? {
            self.pulse.beat(frame)?;
            let cx = frame.cx();
            let mut bytes = 0;
            for spec in &mut self.specs {
                let window = &self.windows[spec.of];
                let start = spec.keys.bytes.len();
                key::encode_all(&window.partition_by, &cx, &mut spec.keys.bytes)?;
                spec.partition_lens.push(spec.keys.bytes.len() - start);
                key::encode_sort(&window.order_by, &cx, &mut spec.keys.bytes)?;
                bytes += spec.keys.end_key();
            }
            for (window, frame_of) in self.windows.iter().zip(&mut self.frames) {
                for arg in &window.args {
                    args.push(arg.eval(&cx)?.into_owned());
                }
                bytes += frame_of.note_row(window, &cx)? + size_of::<Value>();
            }
            self.kept.add(bytes, frame.statement)?;
            self.args.push(&mut args, frame.statement)?;
            self.rows.push_slots(frame, self.saved, self.takes_slots)?;
            let kept_bytes = || self.kept.bytes() + self.args.kept_bytes() + self.rows.kept_bytes();
            if frame.statement.is_short_of_memory(kept_bytes) {
                self.spill(frame.statement)?;
            }
        }
        Ok(())
    }

    /// Moves what is in memory to disk.
    fn spill(&mut self, statement: &Execution<'_>) -> Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Box::new(Spilled::new(
                layout(self.windows, &self.specs, &self.spec_of, self.saved.len()),
                self.kinds.clone(),
                statement,
            )?)),
        };
        let mut row = Vec::new();
        for n in 0..self.rows.len() {
            statement.interrupt.check_in_turn()?;
            row.clear();
            row.extend(self.rows.row_mut(n).iter_mut().chain(self.args.row_mut(n)).map(std::mem::take));
            for spec in &self.specs {
                row.push(Value::bytes(spec.keys.key(n as u32)));
                row.push(Value::UInt(spec.partition_lens.get(n).copied().unwrap_or_default() as u64));
            }
            for frame in &self.frames {
                for part in [RangePart::Value, RangePart::Start, RangePart::End] {
                    row.push(frame.key(part, n as u32).map_or(Value::Null, Value::bytes));
                }
            }
            spilled.add(&mut row)?;
        }
        self.clear();
        Ok(())
    }

    /// Gives the memory back.
    fn clear(&mut self) {
        self.results.clear();
        self.kept_results.clear();
        self.rows.clear();
        self.args.clear();
        self.kept.clear();
        for spec in &mut self.specs {
            spec.keys = Keys::default();
            spec.partition_lens.clear();
        }
        self.frames.iter_mut().for_each(FrameOf::clear);
    }

    /// False: the results are too much for memory.
    fn compute(&mut self, frame: &Frame<'_>) -> Result<bool> {
        let mut is_too_much = false;
        match self.compute_into(&mut is_too_much, frame) {
            Err(_) if is_too_much => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn compute_into(&mut self, is_too_much: &mut bool, frame: &Frame<'_>) -> Result<()> {
        let rows = self.rows.len();
        self.results = self.windows.iter().map(|_| vec![Value::Null; rows]).collect();
        self.order = (0..rows as u32).collect();
        for (n, spec) in self.specs.iter().enumerate() {
            let order = spec.keys.sorted();
            let mut start = 0;
            while start < order.len() {
                let end = start + partition_len(spec, &order[start..]);
                let rows = &order[start..end];
                let mut first_arg = 0;
                for (f, window) in self.windows.iter().enumerate() {
                    if self.spec_of[f] == n {
                        let of = &self.frames[f];
                        let mut partition = InMemory { rows, keys: &spec.keys, frame: of, args: &self.args, first_arg };
                        let call = function::Call { window, kind: self.kinds[f], frame: of };
                        let mut at = rows.iter();
                        let (results, kept) = (&mut self.results[f], &mut self.kept_results);
                        let mut give = |value| {
                            kept.add(heap_bytes(&value), frame.statement)?;
                            if frame.statement.is_short_of_memory(|| kept.bytes()) {
                                *is_too_much = true;
                                return Err(Error::new(&ER_OUT_OF_RESOURCES, &[]));
                            }
                            if let Some(result) = at.next().and_then(|row| results.get_mut(*row as usize)) {
                                *result = value;
                            }
                            Ok(())
                        };
                        call.run(&mut partition, frame.statement, &mut || self.pulse.beat(frame), &mut give)?;
                    }
                    first_arg += window.args.len();
                }
                start = end;
            }
            if has_key(&self.windows[spec.of]) {
                self.order = order;
            }
        }
        Ok(())
    }
}

fn has_key(window: &WindowFunction) -> bool {
    !window.partition_by.is_empty() || !window.order_by.is_empty()
}

fn layout(windows: &[WindowFunction], specs: &[Spec], spec_of: &[usize], saved: usize) -> Layout {
    let mut first_args = Vec::with_capacity(windows.len());
    let mut args = 0;
    for window in windows {
        first_args.push(args);
        args += window.args.len();
    }
    // The rows are given in the order of the last window that has one.
    let mut order: Vec<usize> = (0..specs.len()).collect();
    order.sort_by_key(|spec| specs.get(*spec).and_then(|spec| windows.get(spec.of)).is_some_and(has_key));
    Layout { windows: specs.len(), spec_of: spec_of.to_vec(), args, first_args, order, saved }
}

/// Rows at the start of `order` that are in the same partition.
fn partition_len(spec: &Spec, order: &[u32]) -> usize {
    let partition = |row: u32| &spec.keys.key(row)[..spec.partition_lens[row as usize]];
    let Some(&first) = order.first() else { return 0 };
    let first = partition(first);
    order.iter().take_while(|row| partition(**row) == first).count()
}

fn same_window(a: &WindowFunction, b: &WindowFunction) -> bool {
    a.partition_by.len() == b.partition_by.len()
        && a.order_by.len() == b.order_by.len()
        && a.partition_by.iter().zip(&b.partition_by).all(|(x, y)| visit::same(x, y))
        && a.order_by.iter().zip(&b.order_by).all(|(x, y)| x.descending == y.descending && visit::same(&x.expr, &y.expr))
}

impl Operator for Window<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.spilled = None;
        self.clear();
        self.at = 0;
        self.order.clear();
        self.kinds = self.windows.iter().map(Kind::of).collect::<Result<Vec<Kind>>>()?;
        self.frames = self.windows.iter().map(|w| FrameOf::new(w, frame)).collect::<Result<Vec<FrameOf>>>()?;
        self.read(frame)?;
        if self.spilled.is_none() && self.compute(frame)? {
            return Ok(());
        }
        self.spill(frame.statement)?;
        self.spilled.as_mut().map_or(Ok(()), |spilled| spilled.sort(self.windows, &self.frames, &mut self.pulse, frame))
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if let Some(spilled) = &mut self.spilled {
            return spilled.next((self.windows, &self.frames, self.saved), &mut self.pulse, frame);
        }
        let Some(&row) = self.order.get(self.at) else { return Ok(false) };
        self.at += 1;
        self.rows.restore_taking(row as usize, frame, self.saved);
        for (window, results) in self.windows.iter().zip(&mut self.results) {
            frame.slots[window.slot] = results.get_mut(row as usize).map(std::mem::take).unwrap_or_default();
        }
        Ok(true)
    }
}
