//! Who waits for whom, as SVG: a box each, those that wait for nobody on the left, and an arrow from each that waits to those that it waits for.
//!
//! ```text
//! [7]  <---  [9]  <---  [12]        12 waits for 9, which waits for 7
//!      <---  [10]
//! ```

use std::collections::HashMap;

use maud::{Markup, html};

const BOX_WIDTH: usize = 230;
const BOX_HEIGHT: usize = 62;
const COLUMN_WIDTH: usize = BOX_WIDTH + 90;
const ROW_HEIGHT: usize = BOX_HEIGHT + 26;
const MARGIN: usize = 8;
/// What fits into a box.
const LINE_CHARS: usize = 32;
/// More are not drawn: nobody would find anything among them.
pub const NODES_MAX: usize = 60;

pub struct Node {
    pub id: String,
    pub title: String,
    /// What it does.
    pub text: String,
    pub link: Option<String>,
    /// Its wait was ended.
    pub is_victim: bool,
}

/// `waiter` waits for `blocker`; both are ids of nodes.
pub struct Edge {
    pub waiter: String,
    pub blocker: String,
    pub text: String,
}

struct Place {
    column: usize,
    row: usize,
}

impl Place {
    fn x(&self) -> usize {
        MARGIN + self.column * COLUMN_WIDTH
    }

    fn y(&self) -> usize {
        MARGIN + self.row * ROW_HEIGHT
    }
}

pub fn draw(nodes: &[Node], edges: &[Edge], label: &str) -> Markup {
    let nodes = &nodes[..nodes.len().min(NODES_MAX)];
    let places = places(nodes, edges);
    let width = places.iter().map(|place| place.x() + BOX_WIDTH + MARGIN).max().unwrap_or(0);
    let bends = edges.iter().any(|edge| ends(nodes, &places, edge).is_some_and(|(from, to)| from.column <= to.column));
    let height =
        places.iter().map(|place| place.y() + BOX_HEIGHT + MARGIN).max().unwrap_or(0) + if bends { ROW_HEIGHT / 2 } else { 0 };
    html! {
        div.scroll {
            svg.graph viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img" aria-label=(label) {
                defs {
                    marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" { path d="M0 0L8 4L0 8z" {} }
                }
                @for edge in edges {
                    @if let Some((from, to)) = ends(nodes, &places, edge) {
                        path.edge d=(line(from, to)) marker-end="url(#arrow)" { title { (edge.text) } }
                    }
                }
                @for (node, place) in nodes.iter().zip(&places) {
                    @if let Some(link) = &node.link { a href=(link) { (shown(node, place)) } } @else { (shown(node, place)) }
                }
            }
        }
    }
}

fn shown(node: &Node, place: &Place) -> Markup {
    let (x, y) = (place.x(), place.y());
    let mut words = node.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect::<Vec<_>>();
    let second = words.split_off(words.len().min(LINE_CHARS));
    let is_cut = second.len() > LINE_CHARS;
    let (first, second): (String, String) = (words.into_iter().collect(), second.into_iter().take(LINE_CHARS - 1).collect());
    html! {
        g.node.victim[node.is_victim] {
            title { (node.text) }
            rect x=(x) y=(y) width=(BOX_WIDTH) height=(BOX_HEIGHT) rx="6" {}
            text.name x=(x + 10) y=(y + 19) { (node.title) }
            text x=(x + 10) y=(y + 36) { (first) }
            text x=(x + 10) y=(y + 51) { (second) @if is_cut { "…" } }
        }
    }
}

fn ends<'p>(nodes: &[Node], places: &'p [Place], edge: &Edge) -> Option<(&'p Place, &'p Place)> {
    let place = |id: &str| places.get(nodes.iter().position(|node| node.id == id)?);
    Some((place(&edge.waiter)?, place(&edge.blocker)?))
}

/// To the left from side to side; else below both.
fn line(from: &Place, to: &Place) -> String {
    let middle = BOX_HEIGHT / 2;
    if from.column > to.column {
        let (x1, y1, x2, y2) = (from.x(), from.y() + middle, to.x() + BOX_WIDTH, to.y() + middle);
        let bend = (x1 - x2) / 2;
        return format!("M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}", x1 - bend, x2 + bend);
    }
    let (x1, y1, x2, y2) = (from.x() + BOX_WIDTH / 2, from.y() + BOX_HEIGHT, to.x() + BOX_WIDTH / 2, to.y() + BOX_HEIGHT);
    let below = y1.max(y2) + ROW_HEIGHT / 2;
    format!("M{x1} {y1}C{x1} {below} {x2} {below} {x2} {y2}")
}

/// Whom the node waits for.
fn blockers<'e>(edges: &'e [Edge], id: &'e str) -> impl Iterator<Item = &'e str> {
    edges.iter().filter(move |edge| edge.waiter == id && edge.blocker != id).map(|edge| edge.blocker.as_str())
}

/// A node stands right of all that it waits for; of a ring the first node begins.
fn places(nodes: &[Node], edges: &[Edge]) -> Vec<Place> {
    let mut columns: HashMap<&str, usize> = HashMap::new();
    let is_known = |id: &str| nodes.iter().any(|node| node.id == id);
    while columns.len() < nodes.len() {
        let mut left = nodes.iter().map(|node| node.id.as_str()).filter(|id| !columns.contains_key(id));
        let first = left.clone().next();
        let ready = left.find(|id| blockers(edges, id).all(|blocker| columns.contains_key(blocker) || !is_known(blocker)));
        let Some(id) = ready.or(first) else { break };
        let column = blockers(edges, id).filter_map(|blocker| columns.get(blocker)).max().map_or(0, |column| column + 1);
        columns.insert(id, column);
    }
    let mut rows: HashMap<usize, usize> = HashMap::new();
    let place = |node: &Node| {
        let column = columns.get(node.id.as_str()).copied().unwrap_or(0);
        let row = rows.entry(column).or_default();
        *row += 1;
        Place { column, row: *row - 1 }
    };
    nodes.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(ids: &[&str], waits: &[(&str, &str)]) -> Vec<(usize, usize)> {
        let node =
            |id: &&str| Node { id: id.to_string(), title: id.to_string(), text: "<b>".to_string(), link: None, is_victim: false };
        let edge = |(waiter, blocker): &(&str, &str)| Edge {
            waiter: waiter.to_string(),
            blocker: blocker.to_string(),
            text: String::new(),
        };
        let (nodes, edges): (Vec<Node>, Vec<Edge>) = (ids.iter().map(node).collect(), waits.iter().map(edge).collect());
        let drawn = draw(&nodes, &edges, "waits").into_string();
        assert_eq!(drawn.matches("<path class=\"edge\"").count(), waits.len(), "{drawn}");
        assert!(!drawn.contains("<b>"));
        places(&nodes, &edges).iter().map(|place| (place.column, place.row)).collect()
    }

    #[test]
    fn who_waits_is_right_of_whom_they_wait_for() {
        assert_eq!(columns(&["12", "9", "7", "10"], &[("12", "9"), ("9", "7"), ("10", "7")]), [(2, 0), (1, 0), (0, 0), (1, 1)]);
        // A queue: the last waits for all before.
        assert_eq!(columns(&["1", "2", "3"], &[("2", "1"), ("3", "1"), ("3", "2")]), [(0, 0), (1, 0), (2, 0)]);
        // A ring, and somebody who waits for it.
        assert_eq!(columns(&["1", "2", "3"], &[("1", "2"), ("2", "1"), ("3", "2")]), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(columns(&["1"], &[("1", "1")]), [(0, 0)]);
        assert_eq!(columns(&[], &[]), []);
    }
}
