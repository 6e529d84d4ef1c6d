//! Reads delimited `io.prometheus.client.MetricFamily` messages (prometheus/client_model, `metrics.proto`), with no line of
//! the product's or of the library it writes them with.

/// A family with its samples.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) samples: Vec<Sample>,
}

/// One `Metric`: label values in their order, and what it holds.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<String>,
    pub(crate) value: Option<f64>,
    pub(crate) histogram: Option<Histogram>,
}

/// The native part of a `Histogram`, with its count.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    pub(crate) count: u64,
    pub(crate) schema: i32,
    pub(crate) zero_threshold: f64,
    pub(crate) zero_count: u64,
    /// Offset and length.
    spans: Vec<(i64, u64)>,
    deltas: Vec<i64>,
}

impl Histogram {
    /// Index and count of each bucket.
    ///
    /// # Panics
    ///
    /// If spans and deltas do not fit together.
    pub(crate) fn native(&self) -> Vec<(i32, u64)> {
        let (mut buckets, mut index, mut count) = (Vec::new(), 0, 0);
        let mut deltas = self.deltas.iter();
        for (offset, length) in &self.spans {
            index += offset;
            for _ in 0..*length {
                count += deltas.next().expect("a delta for each bucket");
                buckets.push((i32::try_from(index).unwrap(), u64::try_from(count).unwrap()));
                index += 1;
            }
        }
        assert_eq!(deltas.next(), None, "more deltas than buckets");
        buckets
    }
}

/// The families in `bytes`.
///
/// # Panics
///
/// If a message is cut short, or has a wire type there is not.
pub(crate) fn read(mut bytes: &[u8]) -> Vec<Family> {
    let mut families = Vec::new();
    while !bytes.is_empty() {
        let length = usize::try_from(varint(&mut bytes)).unwrap();
        let (message, rest) = bytes.split_at(length);
        bytes = rest;
        let mut family = Family::default();
        for (number, field) in fields(message) {
            match number {
                1 => family.name = field.text(),
                4 => family.samples.push(sample(field.bytes())),
                _ => {}
            }
        }
        families.push(family);
    }
    families
}

fn sample(message: &[u8]) -> Sample {
    let mut sample = Sample::default();
    let value = |message| {
        let mut fields = fields(message).into_iter();
        let value = fields.find(|(number, _)| *number == 1);
        value.map_or(0.0, |(_, field)| field.double())
    };
    for (number, field) in fields(message) {
        match number {
            1 => {
                let pair = fields(field.bytes());
                let value = pair.into_iter().find(|(number, _)| *number == 2);
                let value = value.map(|(_, value)| value.text());
                sample.labels.push(value.unwrap_or_default());
            }
            2 | 3 => sample.value = Some(value(field.bytes())),
            7 => sample.histogram = Some(histogram(field.bytes())),
            _ => {}
        }
    }
    sample
}

fn histogram(message: &[u8]) -> Histogram {
    let mut histogram = Histogram::default();
    for (number, field) in fields(message) {
        match number {
            1 => histogram.count = field.number(),
            5 => histogram.schema = i32::try_from(zigzag(field.number())).unwrap(),
            6 => histogram.zero_threshold = field.double(),
            7 => histogram.zero_count = field.number(),
            12 => {
                let mut span = (0, 0);
                for (number, field) in fields(field.bytes()) {
                    match number {
                        1 => span.0 = zigzag(field.number()),
                        _ => span.1 = field.number(),
                    }
                }
                histogram.spans.push(span);
            }
            13 => match field {
                Field::Varint(number) => histogram.deltas.push(zigzag(number)),
                packed => {
                    let mut bytes = packed.bytes();
                    while !bytes.is_empty() {
                        histogram.deltas.push(zigzag(varint(&mut bytes)));
                    }
                }
            },
            _ => {}
        }
    }
    histogram
}

#[derive(Debug, Clone, Copy)]
enum Field<'m> {
    Varint(u64),
    Fixed(u64),
    Bytes(&'m [u8]),
}

impl<'m> Field<'m> {
    fn number(self) -> u64 {
        match self {
            Field::Varint(number) => number,
            other => panic!("{other:?} is no number"),
        }
    }

    fn double(self) -> f64 {
        match self {
            Field::Fixed(bits) => f64::from_bits(bits),
            other => panic!("{other:?} is no double"),
        }
    }

    fn bytes(self) -> &'m [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            other => panic!("{other:?} has no length"),
        }
    }

    fn text(self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

fn fields(mut message: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let field = match tag & 7 {
            0 => Field::Varint(varint(&mut message)),
            1 => {
                let (fixed, rest) = message.split_first_chunk::<8>().unwrap();
                message = rest;
                Field::Fixed(u64::from_le_bytes(*fixed))
            }
            2 => {
                let length = usize::try_from(varint(&mut message)).unwrap();
                let (bytes, rest) = message.split_at(length);
                message = rest;
                Field::Bytes(bytes)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number of more than 64 bits");
}

fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}
