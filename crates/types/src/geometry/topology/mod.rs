//! Where geometries are to one another in the plane: relations and overlays.
//!
//! | module        | holds                                                             |
//! |---------------|-------------------------------------------------------------------|
//! | `side`        | on which side of a line a point is, without error                 |
//! | `parts`       | points, lines and polygons of a geometry                          |
//! | `nodes`       | the points where edges end                                        |
//! | `arrangement` | two geometries, cut where they meet                               |
//! | `label`       | what is inside, on the boundary or outside of each                |
//! | `relate`      | the matrix of nine intersections                                  |
//! | `overlay`     | intersection, union, differences                                  |
//! | `rings`       | polygons of the edges around an area                              |
//! | `valid`       | rules of the types: ST_IsValid, ST_IsSimple                       |
//! | `locate`      | where a point is                                                  |
//! | `geographic`  | degrees on a plane                                                |
//! | `work`        | interrupts and memory                                             |
//!
//! All of it is one computation: both geometries are cut into edges that meet nothing else, and each edge, each node and each side of an
//! edge is inside, on the boundary or outside of each geometry. Polygons need not be valid: a place is inside that a ray leaves
//! across an odd number of edges. Coordinates have to be finite. Nothing here knows SRIDs.

mod arrangement;
pub mod geographic;
mod label;
mod locate;
mod nodes;
mod overlay;
mod parts;
mod relate;
mod rings;
mod side;
mod valid;
mod work;

#[cfg(test)]
mod tests;

pub use label::Location;
pub use overlay::{Overlay, overlay};
pub use relate::{Matrix, relate};
pub use side::side;
pub use valid::{is_simple, is_valid};
pub use work::Work;
