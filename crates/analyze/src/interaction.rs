//! Permutation test for interaction: whether the effect of one factor depends on the level of another.

use fenxi_model::Random;

/// Random ways tried.
const WAYS: u32 = 1_999;

/// Interaction of two factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    /// The F ratio: what the factors do together beyond what each does, over what runs differ by anyway.
    pub f: f64,
    /// The probability of an F as large without any interaction.
    pub p: f64,
}

/// Tests for an interaction in `values[a][b][block]`; None unless complete with two levels of each factor
/// and two blocks. For effects that multiply, give logarithms.
///
/// The residuals after blocks and both factors are permuted within each block (Freedman and Lane 1983,
/// A nonstochastic interpretation of reported significance levels).
pub fn interaction(values: &[Vec<Vec<f64>>]) -> Option<Interaction> {
    let cube = Cube::new(values)?;
    let (additive, mut rest): (Vec<f64>, Vec<f64>) =
        cube.y.iter().zip(cube.additive()).map(|(y, fit)| (fit, y - fit)).unzip();
    let seen = cube.f();
    let mut random = Random::new(0x1e7ac7);
    let per_block = cube.a * cube.b;
    let mut large = 0;
    for _ in 0..WAYS {
        rest.chunks_mut(per_block).for_each(|block| random.shuffle(block));
        let y = additive.iter().zip(&rest).map(|(fit, rest)| fit + rest).collect();
        large += u32::from(Cube { y, ..cube }.f() >= seen * (1.0 - 1e-9));
    }
    Some(Interaction { f: seen, p: f64::from(large + 1) / f64::from(WAYS + 1) })
}

/// Values of two factors in blocks: `y[(block * a + i) * b + j]`.
struct Cube {
    y: Vec<f64>,
    a: usize,
    b: usize,
    blocks: usize,
}

/// Means over everything but what they are named after.
struct Means {
    all: f64,
    a: Vec<f64>,
    b: Vec<f64>,
    block: Vec<f64>,
    cell: Vec<f64>,
}

impl Cube {
    fn new(values: &[Vec<Vec<f64>>]) -> Option<Cube> {
        let (a, b) = (values.len(), values.first()?.len());
        let blocks = values.first()?.first()?.len();
        let whole = values.iter().all(|row| row.len() == b && row.iter().all(|runs| runs.len() == blocks));
        if a < 2 || b < 2 || blocks < 2 || !whole || !values.iter().flatten().flatten().all(|v| v.is_finite()) {
            return None;
        }
        let mut y = Vec::with_capacity(a * b * blocks);
        for block in 0..blocks {
            y.extend(values.iter().flatten().map(|runs| runs[block]));
        }
        Some(Cube { y, a, b, blocks })
    }

    fn means(&self) -> Means {
        let (a, b, blocks) = (self.a, self.b, self.blocks);
        let mut means =
            Means { all: 0.0, a: vec![0.0; a], b: vec![0.0; b], block: vec![0.0; blocks], cell: vec![0.0; a * b] };
        for (at, y) in self.y.iter().enumerate() {
            let (block, i, j) = (at / (a * b), at / b % a, at % b);
            means.all += y / (a * b * blocks) as f64;
            means.a[i] += y / (b * blocks) as f64;
            means.b[j] += y / (a * blocks) as f64;
            means.block[block] += y / (a * b) as f64;
            means.cell[i * b + j] += y / blocks as f64;
        }
        means
    }

    /// Additive fit of each value, by blocks and both factors alone.
    fn additive(&self) -> Vec<f64> {
        let means = self.means();
        let (a, b) = (self.a, self.b);
        let fit = |at: usize| means.block[at / (a * b)] + means.a[at / b % a] + means.b[at % b] - 2.0 * means.all;
        (0..self.y.len()).map(fit).collect()
    }

    /// The F ratio of the interaction.
    fn f(&self) -> f64 {
        let means = self.means();
        let (a, b, blocks) = (self.a, self.b, self.blocks);
        let together = |cell: usize| means.cell[cell] - means.a[cell / b] - means.b[cell % b] + means.all;
        let of_both: f64 = (0..a * b).map(|cell| together(cell).powi(2)).sum::<f64>() * blocks as f64;
        let rest = |at: usize| self.y[at] - means.block[at / (a * b)] - means.cell[at % (a * b)] + means.all;
        let of_runs: f64 = (0..self.y.len()).map(|at| rest(at).powi(2)).sum();
        let freedom = |of: usize| of as f64;
        let above = of_both / freedom((a - 1) * (b - 1));
        let below = of_runs / freedom((a * b - 1) * (blocks - 1));
        // The remainder of sums of squares that cancel is rounding.
        let rounding = self.y.iter().map(|y| y * y).sum::<f64>() * 1e-24;
        if above <= rounding || below <= above * 1e-15 {
            return if above > rounding { f64::MAX } else { 0.0 };
        }
        above / below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: cell means are 1.5, 3.5, 3.5 and 7.7, each 0.55 away from what the factors add up to, and
    /// 2 * 4 * 0.55^2 = 2.42 with 1 degree. Blocks differ by 1, but in one cell by 1.4: 0.06 with 3 degrees.
    #[test]
    fn f_is_as_by_hand() {
        let values = vec![vec![vec![1.0, 2.0], vec![3.0, 4.0]], vec![vec![3.0, 4.0], vec![7.0, 8.4]]];
        let cube = Cube::new(&values).unwrap();
        assert!((cube.f() - 2.42 / 0.02).abs() < 1e-9, "{}", cube.f());
    }

    #[test]
    fn an_interaction_is_found_and_not_where_there_is_none() {
        let mut random = Random::new(21);
        let mut of = |together: f64| {
            let cell = |i: usize, j: usize, block: usize, noise: f64| {
                let both = if i == 1 && j == 1 { together } else { 0.0 };
                i as f64 + 2.0 * j as f64 + 0.5 * block as f64 + both + noise
            };
            (0..2)
                .map(|i| (0..3).map(|j| (0..5).map(|k| cell(i, j, k, 0.3 * random.unit())).collect()).collect())
                .collect::<Vec<Vec<Vec<f64>>>>()
        };
        assert!(interaction(&of(1.0)).unwrap().p < 0.01);
        let false_ones = (0..200).filter(|_| interaction(&of(0.0)).unwrap().p <= 0.05).count();
        assert!((2..=20).contains(&false_ones), "{false_ones} of 200 at 5 %");
    }

    #[test]
    fn what_is_not_complete_is_not_tested() {
        assert_eq!(interaction(&[vec![vec![1.0, 2.0], vec![1.0]], vec![vec![1.0, 2.0], vec![1.0, 2.0]]]), None);
        assert_eq!(interaction(&[vec![vec![1.0, 2.0], vec![1.0, 2.0]]]), None);
        assert_eq!(interaction(&[]), None);
        let exact = vec![vec![vec![1.0, 1.0], vec![2.0, 2.0]], vec![vec![3.0, 3.0], vec![4.0, 4.0]]];
        assert_eq!(interaction(&exact).unwrap().p, 1.0);
        let rounded = [1.5_f64, 2.5].map(|v| vec![vec![v.ln() + 1e-15; 3], vec![v.ln(); 3]]);
        assert_eq!(interaction(&rounded).unwrap().p, 1.0);
    }
}
