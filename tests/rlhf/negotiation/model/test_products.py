"""Products with their gradient written out, beside autograd's."""

import torch

from apportion.rlhf.negotiation.model.products import gated, scored

Tensors = tuple[torch.Tensor, ...]


def drawn(*shapes: tuple[int, ...]) -> Tensors:
    draws = torch.Generator().manual_seed(3)
    return tuple(torch.randn(shape, generator=draws, dtype=torch.float64) for shape in shapes)


def gradients(made: torch.Tensor, given: Tensors) -> Tensors:
    """Of a sum in which every number has a weight of its own."""
    (weights,) = drawn(tuple(made.shape))
    return torch.autograd.grad((made * weights).sum(), given)


def leaves(*shapes: tuple[int, ...]) -> Tensors:
    return tuple(one.requires_grad_(True) for one in drawn(*shapes))


def same(one: torch.Tensor, other: torch.Tensor, given: Tensors) -> bool:
    """Whether numbers and gradients are the same."""
    pairs = [(one, other), *zip(gradients(one, given), gradients(other, given), strict=True)]
    return all(torch.allclose(mine, autograd, rtol=1e-12, atol=1e-13) for mine, autograd in pairs)


def test_scores_by_a_part_of_a_table() -> None:
    given, table, bias = leaves((2, 7, 5), (2, 9, 5), (2, 6))
    plain = torch.baddbmm(bias[:, None], given, table[:, :6].transpose(1, 2))
    assert same(scored(given, table, bias), plain, (given, table, bias))


def test_what_embeddings_and_contexts_bring_to_gates() -> None:
    embedded, context, weight, bias = leaves((2, 3, 4, 5), (2, 3, 2), (2, 7, 6), (2, 6))
    matrix, known = torch.split(weight, [5, 2], dim=1)
    beside = torch.baddbmm(bias[:, None], context, known)
    plain = torch.bmm(embedded.flatten(1, 2), matrix).view(2, 3, 4, 6) + beside[:, :, None]
    assert same(gated(embedded, context, weight, bias), plain, (embedded, context, weight, bias))
