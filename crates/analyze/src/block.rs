//! Block effects: removes differences between blocks of an experiment, which affect all of their runs alike.

/// Passes over cells and blocks; with nothing missing the first is exact.
const PASSES: usize = 20;

/// Takes the differences between blocks out of `values[cell][block]`, where NaN is missing: blocks count as
/// factors where all values are positive, else as summands. Means of cells with all their blocks stay
/// (geometric ones, of factors).
pub fn without_blocks(values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all = || values.iter().flatten().filter(|v| !v.is_nan());
    let by_factors = all().all(|v| *v > 0.0);
    let forth = |v: f64| if by_factors { v.ln() } else { v };
    let back = |v: f64| if by_factors { v.exp() } else { v };
    let y: Vec<Vec<f64>> = values.iter().map(|cell| cell.iter().map(|v| forth(*v)).collect()).collect();
    let blocks = effects(&y);
    y.iter().map(|cell| cell.iter().zip(&blocks).map(|(v, block)| back(v - block)).collect()).collect()
}

/// Effect of each block, 0 on average: least squares of value = cell + block, fitted by turns.
fn effects(y: &[Vec<f64>]) -> Vec<f64> {
    let n_blocks = y.iter().map(Vec::len).max().unwrap_or(0);
    let mut blocks = vec![0.0; n_blocks];
    for _ in 0..PASSES {
        let cells: Vec<f64> =
            y.iter().map(|cell| mean_known(cell.iter().zip(&blocks).map(|(v, block)| v - block))).collect();
        for (k, block) in blocks.iter_mut().enumerate() {
            let rest = mean_known(y.iter().zip(&cells).filter_map(|(cell, mean)| Some(cell.get(k)? - mean)));
            *block = if rest.is_nan() { 0.0 } else { rest };
        }
        let center = mean_known(blocks.iter().copied());
        blocks.iter_mut().for_each(|block| *block -= center);
    }
    blocks
}

fn mean_known(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.filter(|v| !v.is_nan()).fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    sum / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blocks_do_falls_out_and_what_cells_do_stays() {
        let (cells, blocks) = ([10.0, 20.0, 40.0], [1.0, 1.2, 0.8, 1.1]);
        let geometric = blocks.iter().map(|b: &f64| b.ln()).sum::<f64>() / 4.0;
        let values: Vec<Vec<f64>> = cells.iter().map(|c| blocks.iter().map(|b| c * b).collect()).collect();
        for (cell, row) in cells.iter().zip(without_blocks(&values)) {
            assert!(row.iter().all(|v| (v / (cell * geometric.exp()) - 1.0).abs() < 1e-12), "{row:?}");
        }
        // With a run missing the others still agree.
        let mut some = values.clone();
        some[1][2] = f64::NAN;
        let aligned = without_blocks(&some);
        assert!(aligned[1][2].is_nan() && (aligned[1][0] / aligned[1][3] - 1.0).abs() < 1e-6, "{aligned:?}");
        // Of numbers with signs, differences are taken out.
        let signed = without_blocks(&[vec![-1.0, 1.0], vec![2.0, 4.0]]);
        assert_eq!(signed, [vec![0.0, 0.0], vec![3.0, 3.0]]);
    }
}
