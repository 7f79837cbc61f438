//! The entries of SPATIAL indexes: up to four cells for each row, which cover its minimum bounding rectangle.
//!
//! The plane is halved along x, then along y, and so on: 64 times down to cells of one *place*, which is a coordinate's sign, exponent and
//! first 20 bits of its fraction. A cell is the bits that say which halves it is in; cells of a multiple of four bits are used. An entry is
//! as that of another index over a row with the cell in the geometry's place:
//!
//! | OFFSET | SIZE | DESCRIPTION                                       |
//! |--------|------|---------------------------------------------------|
//! | 0      | 8    | the cell's bits, big endian, with zeros behind    |
//! | 8      | 1    | how many they are, 0 to 64                        |
//!
//! So the cells in a cell are next to each other, and behind it. A point has one cell of 64 bits. The rectangle of a line or an area is halved
//! where it lies across the middle of a cell that is much larger than it. What is empty is in the cell of no bits.
//!
//! Who looks for what meets a window halves that in the same way. Between the first and the last place of each piece are all cells in it;
//! the larger ones that it is in have the first bits of its first place (`Cover`); there are none in the index of a POINT column. Rows have
//! to be checked again, for cells are larger than rectangles, and rectangles than geometries.

use vaquita_types::geometry::{Geometry, Point};
use vaquita_types::schema::{IndexKind, TableDef};
use vaquita_types::{Error, Result, Value};

use super::multi_valued::Elements;
use super::part::{Part, PartForm};
use super::{IndexCodec, successor};
use crate::encoding::range::KeyRange;

pub(super) const CELL_BYTES: u16 = 9;
const PLACE_BITS: u32 = 64;
/// Levels of cells are multiples of it: a window lies in few cells that have to be looked for one by one.
const LEVEL_STEP: u32 = 4;
/// Entries of a row.
const ROW_CELLS_MAX: usize = 4;
/// A row's rectangle is halved if its cell has so many bits fewer than its size would allow.
const ROW_SLACK_BITS: u32 = 4;
/// Pieces of a window.
const WINDOW_PIECES_MAX: usize = 16;

/// The place of a coordinate: the order of places is that of coordinates.
fn place(coordinate: f64) -> u32 {
    // Without a sign of zero.
    let bits = (coordinate + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    (ordered >> 32) as u32
}

/// The bits of a number at every second place.
fn spread(n: u32) -> u64 {
    let mut n = u64::from(n);
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        n = (n | n << shift) & mask;
    }
    n
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    bits: u64,
    level: u32,
}

impl Cell {
    /// The cell of so many bits in which a place is.
    fn around(place: u64, level: u32) -> Cell {
        let bits = if level == 0 { 0 } else { place & u64::MAX << (PLACE_BITS - level) };
        Cell { bits, level }
    }

    fn bytes(self) -> [u8; CELL_BYTES as usize] {
        let mut bytes = [0; CELL_BYTES as usize];
        bytes[..8].copy_from_slice(&self.bits.to_be_bytes());
        bytes[8] = self.level as u8;
        bytes
    }
}

/// Places from `low` to `high`, ends included.
#[derive(Clone, Copy, Debug)]
struct Rectangle {
    x: (u32, u32),
    y: (u32, u32),
}

impl Rectangle {
    fn new((low, high): (Point, Point)) -> Rectangle {
        Rectangle { x: (place(low.x), place(high.x)), y: (place(low.y), place(high.y)) }
    }

    /// The first of its places in the order of cells.
    fn first(self) -> u64 {
        spread(self.x.0) << 1 | spread(self.y.0)
    }

    fn last(self) -> u64 {
        spread(self.x.1) << 1 | spread(self.y.1)
    }

    /// The bits that all of its places begin with.
    fn common_bits(self) -> u32 {
        (self.first() ^ self.last()).leading_zeros()
    }

    fn cell(self) -> Cell {
        Cell::around(self.first(), self.common_bits() / LEVEL_STEP * LEVEL_STEP)
    }

    /// Both sides of the middle of its cell; `None` for one place.
    fn halves(self) -> Option<[Rectangle; 2]> {
        let differing = (PLACE_BITS - 1).checked_sub(self.common_bits())?;
        let split = |(low, high): (u32, u32)| {
            let middle = high >> (differing / 2) << (differing / 2);
            ((low, middle - 1), (middle, high))
        };
        Some(if differing % 2 == 1 {
            let (left, right) = split(self.x);
            [Rectangle { x: left, ..self }, Rectangle { x: right, ..self }]
        } else {
            let (below, above) = split(self.y);
            [Rectangle { y: below, ..self }, Rectangle { y: above, ..self }]
        })
    }

    /// Bits that its cell has less than one of its size would.
    fn slack_bits(self) -> u32 {
        let extent = (self.x.1 - self.x.0).max(self.y.1 - self.y.0);
        (extent.leading_zeros() * 2).saturating_sub(self.common_bits())
    }

    fn places(self) -> u128 {
        let side = |(low, high): (u32, u32)| u128::from(high - low) + 1;
        side(self.x) * side(self.y)
    }

    /// Places between the first and the last that are not in it.
    fn strange_places(self) -> u128 {
        (u128::from(self.last() - self.first()) + 1).saturating_sub(self.places())
    }
}

/// Halves the piece of which `badness` is greatest, until there are `pieces_max`, it is zero for all, or `enough` says so.
fn divide<B: Ord + Default>(
    whole: Rectangle,
    pieces_max: usize,
    badness: impl Fn(Rectangle) -> B,
    enough: impl Fn(&[Rectangle]) -> bool,
) -> Vec<Rectangle> {
    let mut pieces = vec![whole];
    while pieces.len() < pieces_max && !enough(&pieces) {
        let worst = (0..pieces.len()).max_by_key(|n| badness(pieces[*n]));
        let Some(worst) = worst.filter(|n| badness(pieces[*n]) > B::default()) else { break };
        let Some([low, high]) = pieces[worst].halves() else { break };
        pieces[worst] = low;
        pieces.push(high);
    }
    pieces
}

/// A piece begins at the cell around its first place that has so many bits more than the piece: that adds a sixteenth to it at most, and saves
/// to look for the smaller cells around that place.
const BEGIN_BITS: u32 = 5;

/// Which cells meet a window, and some others.
struct Cover {
    /// All cells from the first place to the last.
    places: Vec<(u64, u64)>,
    /// Those around them.
    cells: Vec<Cell>,
}

impl Cover {
    /// `points_only`: nothing else is in the index, so that no cell is around others.
    fn new(window: (Point, Point), points_only: bool) -> Cover {
        let mut cover = Cover { places: Vec::new(), cells: Vec::new() };
        let window = Rectangle::new(window);
        // Another piece costs as much as some rows that are read in vain.
        let enough = |pieces: &[Rectangle]| pieces.iter().map(|piece| piece.strange_places()).sum::<u128>() <= window.places();
        for piece in divide(window, WINDOW_PIECES_MAX, Rectangle::strange_places, enough) {
            let (first, last) = (piece.first(), piece.last());
            if points_only {
                cover.places.push((first, last));
                continue;
            }
            let level = ((last - first).leading_zeros() + BEGIN_BITS).min(PLACE_BITS).next_multiple_of(LEVEL_STEP);
            cover.places.push((Cell::around(first, level).bits, last));
            cover.cells.extend((0..level).step_by(LEVEL_STEP as usize).map(|level| Cell::around(first, level)));
        }
        cover.cells.sort_unstable();
        cover.cells.dedup();
        cover.cells.retain(|cell| !cover.places.iter().any(|(first, last)| (first..=last).contains(&&cell.bits)));
        cover
    }
}

/// The cells of a rectangle.
fn cells_of(bounds: (Point, Point)) -> impl Iterator<Item = Cell> {
    let badness = |piece: Rectangle| piece.slack_bits().saturating_sub(ROW_SLACK_BITS);
    divide(Rectangle::new(bounds), ROW_CELLS_MAX, badness, |_| false).into_iter().map(Rectangle::cell)
}

/// The cells of a geometry in its internal form.
pub(super) fn cells(value: &Value) -> Result<Vec<Value>> {
    let damaged = || Error::internal("no geometry to index");
    let Value::Bytes(bytes) = value else { return Err(damaged()) };
    let geometry = Geometry::decode(bytes).map_err(|_| damaged())?;
    let cells = match geometry.shape.bounds() {
        None => vec![Cell { bits: 0, level: 0 }],
        Some(bounds) => cells_of(bounds).collect(),
    };
    Ok(cells.into_iter().map(|cell| Value::bytes(cell.bytes())).collect())
}

/// The part that holds a cell.
pub(super) fn part(position: usize) -> Part {
    Part::word(position, PartForm::FixedBytes(CELL_BYTES), vaquita_types::charset::CollationId::BINARY)
}

impl Elements {
    /// Those of a SPATIAL index.
    pub(super) fn of_cells(def: &TableDef, index: usize) -> Option<Elements> {
        let index = def.indexes.get(index).filter(|index| index.kind == IndexKind::Spatial)?;
        let position = def.position_of(index.parts.first()?.column)?;
        Some(Elements::cells_at(position, index.name.clone()))
    }
}

impl IndexCodec {
    pub fn is_spatial(&self) -> bool {
        self.kind == IndexKind::Spatial
    }

    /// The entries of all rows whose rectangles meet a window, and of some others; `points_only`: the column holds nothing else.
    pub fn window_ranges(&self, window: (Point, Point), points_only: bool) -> Vec<KeyRange> {
        let key = |cell: Cell| {
            let mut key = Vec::new();
            self.start(&mut key);
            key.extend_from_slice(&cell.bytes());
            key
        };
        let behind = |mut key: Vec<u8>| {
            successor(&mut key);
            key
        };
        let cover = Cover::new(window, points_only);
        let places = cover.places.into_iter().map(|(first, last)| KeyRange {
            lower: key(Cell { bits: first, level: 0 }),
            upper: behind(key(Cell { bits: last, level: PLACE_BITS })),
        });
        let cells = cover.cells.into_iter().map(|cell| KeyRange { lower: key(cell), upper: behind(key(cell)) });
        places.chain(cells).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rectangle(a: (f64, f64), b: (f64, f64)) -> (Point, Point) {
        (Point::new(a.0.min(b.0), a.1.min(b.1)), Point::new(a.0.max(b.0), a.1.max(b.1)))
    }

    fn meet(a: (Point, Point), b: (Point, Point)) -> bool {
        a.0.x <= b.1.x && b.0.x <= a.1.x && a.0.y <= b.1.y && b.0.y <= a.1.y
    }

    /// The ranges of a window have a cell of a rectangle.
    fn finds(window: (Point, Point), rectangle: (Point, Point)) -> bool {
        let finds = |points_only| {
            let cover = Cover::new(window, points_only);
            cells_of(rectangle).any(|cell| {
                cover.cells.contains(&cell) || cover.places.iter().any(|(first, last)| (first..=last).contains(&&cell.bits))
            })
        };
        let is_point = rectangle.0 == rectangle.1;
        finds(false) && (!is_point || finds(true))
    }

    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            -10f64..10.0,
            Just(0.0),
            Just(-0.0),
            (-8i32..8).prop_map(f64::from),
            -1e9f64..1e9,
            Just(f64::MAX),
            Just(f64::NEG_INFINITY),
        ]
    }

    fn corner() -> impl Strategy<Value = (f64, f64)> {
        (coordinate(), coordinate())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

        #[test]
        fn a_window_finds_what_meets_it(a in corner(), b in corner(), c in corner(), size in corner()) {
            let window = rectangle(a, b);
            for other in [rectangle(c, size), rectangle(c, (c.0 + size.0 / 1e3, c.1 + size.1 / 1e3)), rectangle(c, c)] {
                prop_assert!(!meet(window, other) || finds(window, other), "{window:?} {other:?}");
                prop_assert!(!meet(window, other) || finds(other, window), "{other:?} {window:?}");
            }
        }

        #[test]
        fn places_have_the_order_of_coordinates(a in coordinate(), b in coordinate()) {
            prop_assert!(a > b || place(a) <= place(b));
        }
    }

    #[test]
    fn a_window_finds_little_beside_it() {
        let window = rectangle((2.1, 48.1), (2.5, 49.3));
        let beside = (0..100).flat_map(|x| (0..100).map(move |y| (f64::from(x) / 10.0, 44.0 + f64::from(y) / 10.0)));
        let found: Vec<_> = beside.filter(|at| finds(window, rectangle(*at, *at))).collect();
        // 5 by 13 of them are in it.
        assert!((65..=110).contains(&found.len()), "{}", found.len());
    }

    #[test]
    fn an_area_across_the_middle_of_the_plane_has_small_cells() {
        let cells: Vec<u32> = cells_of(rectangle((15.99, 15.99), (16.01, 16.01))).map(|cell| cell.level).collect();
        assert_eq!(cells.len(), 4);
        assert!(cells.iter().all(|level| *level >= 36), "{cells:?}");
    }
}
