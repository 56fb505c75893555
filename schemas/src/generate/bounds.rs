//! The bounds of numbers, strings, arrays and objects as a folded schema states them.

use serde_json::{Map, Number, Value};

/// A number below which a counter bound stays usable.
pub(super) fn count(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    let value = schema.get(key)?;
    value.as_u64().and_then(|n| usize::try_from(n).ok()).or_else(|| {
        let float = value.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0 && float < 1e15).then_some(float as usize)
    })
}

/// The closed interval that a numeric schema allows, as far as doubles can say it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) low: Option<f64>,
    pub(super) low_open: bool,
    pub(super) high: Option<f64>,
    pub(super) high_open: bool,
    pub(super) step: Option<f64>,
}

impl Interval {
    pub(super) fn of(schema: &Map<String, Value>) -> Self {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        // Draft 4 spelled exclusiveness as a flag beside the bound.
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
        let (mut low, mut low_open) = (number("minimum"), flag("exclusiveMinimum"));
        let (mut high, mut high_open) = (number("maximum"), flag("exclusiveMaximum"));
        if let Some(open) = number("exclusiveMinimum")
            && low.is_none_or(|l| open >= l)
        {
            (low, low_open) = (Some(open), true);
        }
        if let Some(open) = number("exclusiveMaximum")
            && high.is_none_or(|h| open <= h)
        {
            (high, high_open) = (Some(open), true);
        }
        Self { low, low_open, high, high_open, step: number("multipleOf").filter(|s| *s > 0.0) }
    }

    /// The allowed integers, cut to what an `i64` and a double both hold.
    pub(super) fn integers(&self) -> Option<(i64, i64)> {
        const EDGE: f64 = 9_007_199_254_740_991.0;
        let step = self.step.filter(|s| s.fract() == 0.0).unwrap_or(1.0);
        let mut low = (self.low.unwrap_or(-EDGE).max(-EDGE) / step).ceil();
        let mut high = (self.high.unwrap_or(EDGE).min(EDGE) / step).floor();
        if self.low_open && self.low == Some(low * step) {
            low += 1.0;
        }
        if self.high_open && self.high == Some(high * step) {
            high -= 1.0;
        }
        (low <= high).then_some((low as i64, high as i64))
    }

    pub(super) fn whole_step(&self) -> i64 {
        self.step.filter(|s| s.fract() == 0.0 && *s < 1e15).map_or(1, |s| s as i64)
    }
}

/// A number as JSON writes it best: without a fraction where there is none.
pub(super) fn number(value: f64) -> Option<Value> {
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_991.0 {
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}
