/* The form of a statement: what stays the same when its values, its blanks and its comments change. */
#pragma once
#include "querystat_maps.h"

static __always_inline bool is_digit(u32 c)
{
	return c - '0' < 10;
}

static __always_inline bool in_word(u32 c)
{
	return is_digit(c) || (c | 32) - 'a' < 26 || c == '_' || c == '$' || c >= 128;
}

static __always_inline void put(struct scratch *s, u32 c)
{
	u32 at = s->form.length;
	if (at >= TEXT - 1)
		return;
	s->form.text[IN_TEXT(at)] = c;
	s->form.length = at + 1;
	s->before_last = s->last;
	s->last = c;
	s->hash = (s->hash ^ c) * 0x100000001b3ULL;
}

#define COMMENT_LINE 256
#define COMMENT_BEGINS 257

static __always_inline void in_quotes(struct scratch *s, u32 c)
{
	if (s->quote == '`' || (s->quote == '"' && s->quoted_names))
		put(s, c);
	if (s->escaped)
		s->escaped = 0;
	else if (c == '\\' && s->escapes)
		s->escaped = 1;
	else if (c == s->quote)
		s->quote = 0;
}

static __always_inline void in_comment(struct scratch *s, u32 c)
{
	if (s->comment == COMMENT_LINE)
		s->comment = c == '\n' ? 0 : COMMENT_LINE;
	else if (s->comment == COMMENT_BEGINS)
		/* The star of its begin, which is not that of its end. */
		s->comment = ' ';
	else
		s->comment = s->comment == '*' && c == '/' ? 0 : c;
	if (!s->comment && s->last != ' ')
		put(s, ' ');
}

/* One byte of a statement: strings and numbers become `?`, white space one blank, comments nothing. */
static long step(u32 at, struct scratch **context)
{
	struct scratch *s = *context;
	u32 c, next;
	if (at >= s->length)
		return 1;
	c = (u8)s->text[IN_TEXT(at)];
	if (s->quote) {
		in_quotes(s, c);
		return 0;
	}
	if (s->comment) {
		in_comment(s, c ? c : ' ');
		return 0;
	}
	next = at + 1 < s->length ? (u8)s->text[IN_TEXT(at + 1)] : 0;
	if ((c == '/' && next == '*') || (c == '-' && next == '-') || (c == '#' && !s->quoted_names)) {
		s->in_number = 0;
		s->comment = c == '/' ? COMMENT_BEGINS : COMMENT_LINE;
		return 0;
	}
	if (s->in_number) {
		if (in_word(c) || c == '.')
			return 0;
		s->in_number = 0;
	}
	if (c == '\'' || c == '"' || c == '`') {
		bool name = c == '`' || (c == '"' && s->quoted_names);
		s->quote = c;
		/* Two quotes within a string stand for one: it goes on as it began. PostgreSQL's E'...' has escapes. */
		if (name || s->last != '?')
			s->escapes = !s->quoted_names ||
				     (c == '\'' && (s->last | 32) == 'e' && !in_word(s->before_last));
		if (name)
			put(s, c);
		else if (s->last != '?')
			put(s, '?');
		return 0;
	}
	if (is_digit(c) && !in_word(s->last)) {
		s->in_number = 1;
		put(s, '?');
		return 0;
	}
	if (c == ' ' || c - 9 < 5) {
		if (s->last != ' ')
			put(s, ' ');
		return 0;
	}
	put(s, c);
	return 0;
}

/* The form of a query's text, and a number for it. */
static __always_inline struct scratch *form_of(struct query *query)
{
	u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	s->quoted_names = query->server.quoted_names;
	s->length = query->length < TEXT ? query->length : TEXT - 1;
	s->quote = s->escaped = s->escapes = s->in_number = s->comment = 0;
	s->last = s->before_last = ' ';
	s->hash = 0xcbf29ce484222325ULL;
	s->form.length = 0;
	s->form.cut = query->length >= TEXT - 1;
	__builtin_memcpy(s->text, query->text, TEXT);
	/* Loops take their context from the stack only. */
	bpf_loop(TEXT, step, &s, 0);
	/* 0 means no form. */
	s->hash |= 1;
	return s;
}
