//! `Decimal`: MySQL's exact numeric type, up to 65 digits with a scale up to 30.
//!
//! A number is an integer mantissa and a scale (12.50 is 1250 at scale 2). Mantissas
//! that fit 64 bits, nearly all, are held inline; others are 256 bits wide in a box.
use bnum::types::I256;

#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    Small(i64, u8),
    /// Only for mantissas that do not fit `Small`.
    Big(Box<(I256, u8)>),
}

const _: () = assert!(std::mem::size_of::<Decimal>() <= 16);

impl PartialEq for Decimal {
    fn eq(&self, _: &Decimal) -> bool {
        todo!()
    }
}
impl std::fmt::Debug for Decimal {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
