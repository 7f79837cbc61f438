//! Well-known text (OGC 06-103r4, 7), of two dimensions.
//!
//! `POINT(1 2)`, `MULTIPOINT(1 2,3 4)` or `MULTIPOINT((1 2),(3 4))`, `GEOMETRYCOLLECTION(POINT(1 2))`, `GEOMETRYCOLLECTION EMPTY`. Words
//! have any case, and any white space stands between what belongs together. Written are MySQL's shortest forms.

use super::{Point, ReadError, Ring, Shape, deeper, is_ring};
use crate::format::write_double;
use crate::stack;

struct Reader<'a> {
    rest: &'a [u8],
}

/// Reads a text, all of it.
pub fn read(text: &[u8]) -> Result<Shape, ReadError> {
    let mut reader = Reader { rest: text };
    let shape = reader.shape(0)?;
    reader.skip_space();
    if reader.rest.is_empty() { Ok(shape) } else { Err(ReadError::Malformed) }
}

impl<'a> Reader<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Takes `byte` if it is the next one.
    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), ReadError> {
        if self.eat(byte) { Ok(()) } else { Err(ReadError::Malformed) }
    }

    fn word(&mut self) -> &'a [u8] {
        self.skip_space();
        let end = self.rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Sign, digits, fraction and exponent, as far as they are one number.
    fn number(&mut self) -> Result<f64, ReadError> {
        self.skip_space();
        let digits = |from: usize| self.rest[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let at = |i: usize| self.rest.get(i).copied();
        let start = usize::from(matches!(at(0), Some(b'+' | b'-')));
        let whole = digits(start);
        let mut end = start + whole;
        let mut fraction = 0;
        if at(end) == Some(b'.') {
            fraction = digits(end + 1);
            end += 1 + fraction;
        }
        if whole + fraction == 0 {
            return Err(ReadError::Malformed);
        }
        if matches!(at(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(at(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
        number.filter(|n| n.is_finite()).ok_or(ReadError::Malformed)
    }

    fn point(&mut self) -> Result<Point, ReadError> {
        Ok(Point { x: self.number()?, y: self.number()? })
    }

    /// `(element,element …)`
    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Result<T, ReadError>) -> Result<Vec<T>, ReadError> {
        self.expect(b'(')?;
        let mut list = vec![element(self)?];
        while self.eat(b',') {
            list.push(element(self)?);
        }
        self.expect(b')')?;
        Ok(list)
    }

    fn line(&mut self) -> Result<Vec<Point>, ReadError> {
        let points = self.list(Reader::point)?;
        if points.len() >= 2 { Ok(points) } else { Err(ReadError::Malformed) }
    }

    fn ring(&mut self) -> Result<Ring, ReadError> {
        let points = self.list(Reader::point)?;
        if is_ring(&points) { Ok(points) } else { Err(ReadError::Malformed) }
    }

    fn point_in_parentheses(&mut self) -> Result<Point, ReadError> {
        self.expect(b'(')?;
        let point = self.point()?;
        self.expect(b')')?;
        Ok(point)
    }

    /// All of the points stand in parentheses of their own, or none.
    fn points(&mut self) -> Result<Vec<Point>, ReadError> {
        let mut ahead = Reader { rest: self.rest };
        let wrapped = ahead.eat(b'(') && ahead.eat(b'(');
        self.list(if wrapped { Reader::point_in_parentheses } else { Reader::point })
    }

    fn collection(&mut self, depth: usize) -> Result<Vec<Shape>, ReadError> {
        let mut ahead = Reader { rest: self.rest };
        if ahead.word().eq_ignore_ascii_case(b"EMPTY") || ahead.eat(b'(') && ahead.eat(b')') {
            self.rest = ahead.rest;
            return Ok(Vec::new());
        }
        let depth = deeper(depth)?;
        self.list(|reader| stack::deeper(|| reader.shape(depth)))
    }

    fn shape(&mut self, depth: usize) -> Result<Shape, ReadError> {
        let word = self.word().to_ascii_uppercase();
        Ok(match word.as_slice() {
            b"POINT" => Shape::Point(self.point_in_parentheses()?),
            b"LINESTRING" => Shape::LineString(self.line()?),
            b"POLYGON" => Shape::Polygon(self.list(Reader::ring)?),
            b"MULTIPOINT" => Shape::MultiPoint(self.points()?),
            b"MULTILINESTRING" => Shape::MultiLineString(self.list(Reader::line)?),
            b"MULTIPOLYGON" => Shape::MultiPolygon(self.list(|reader| reader.list(Reader::ring))?),
            b"GEOMETRYCOLLECTION" => Shape::Collection(self.collection(depth)?),
            _ => return Err(ReadError::Malformed),
        })
    }
}

impl Shape {
    /// Appends the text; `swap` exchanges the coordinates.
    pub fn write_wkt(&self, swap: bool, out: &mut Vec<u8>) {
        let point = |p: &Point, out: &mut Vec<u8>| write_point(*p, swap, out);
        let wrapped = |p: &Point, out: &mut Vec<u8>| {
            out.push(b'(');
            write_point(*p, swap, out);
            out.push(b')');
        };
        let line = |points: &Vec<Point>, out: &mut Vec<u8>| write_list(points, out, point);
        let polygon = |rings: &Vec<Ring>, out: &mut Vec<u8>| write_list(rings, out, line);
        match self {
            Shape::Collection(shapes) if shapes.is_empty() => return out.extend_from_slice(b"GEOMETRYCOLLECTION EMPTY"),
            Shape::Collection(_) => out.extend_from_slice(b"GEOMETRYCOLLECTION"),
            _ => out.extend_from_slice(self.kind().upper_name().as_bytes()),
        }
        match self {
            Shape::Point(p) => wrapped(p, out),
            Shape::LineString(points) => line(points, out),
            Shape::Polygon(rings) => polygon(rings, out),
            Shape::MultiPoint(points) => write_list(points, out, wrapped),
            Shape::MultiLineString(lines) => write_list(lines, out, line),
            Shape::MultiPolygon(polygons) => write_list(polygons, out, polygon),
            Shape::Collection(shapes) => {
                write_list(shapes, out, |shape, out| stack::deeper(|| shape.write_wkt(swap, out)));
            }
        }
    }
}

fn write_point(p: Point, swap: bool, out: &mut Vec<u8>) {
    let p = if swap { p.swapped() } else { p };
    write_double(out, p.x);
    out.push(b' ');
    write_double(out, p.y);
}

fn write_list<T>(list: &[T], out: &mut Vec<u8>, mut write: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'(');
    for (n, element) in list.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b')');
}
