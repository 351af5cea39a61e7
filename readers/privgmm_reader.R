# Read a privgmm release without privgmm: base R.  Rscript privgmm_reader.R RELEASE.json ROWS [SEED] > rows.csv
# Copy this file wherever you need it. load_release() checks the digest of the file, draw_rows() makes rows of its model: through
# the shapes of single columns (margins) where it has them, else of its Gaussians, as stated of its columns.
# The digest needs R 4.5 or later, or the package digest.

# The release as lists; a file that was changed after it was written is refused.
load_release <- function(path) {
  tokens <- json_tokens(enc2utf8(paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")))
  release <- parsed(tokens)
  if (!identical(release$value$format, "privgmm-release") || release$value$version < 3) {
    stop(path, " is no privgmm release of version 3 or later", call. = FALSE)
  }
  if (!identical(sha256(release$canonical), release$value$sha256)) {
    stop(path, " was changed or damaged after it was written", call. = FALSE)
  }
  release$value
}

json_tokens <- function(text) {
  pattern <- '"(?:[^"\\\\]|\\\\.)*"|-?[0-9][-+.0-9eE]*|true|false|null|[\\[\\]{}:,]'
  regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
}

# The value of a JSON text, and its canonical form (RFC 8785) without the member sha256. The form is made of the text's own
# digits, never of R's numbers, whose printing and reading may round.
parsed <- function(tokens) {
  at <- depth <- 0
  value <- function() {
    at <<- at + 1
    token <- tokens[at]
    first <- substr(token, 1, 1)
    if (first == "{") return(members("}", TRUE))
    if (first == "[") return(members("]", FALSE))
    if (first == '"') {
      text <- unescaped(token)
      return(list(value = text, canonical = escaped(text)))
    }
    if (token == "true" || token == "false") return(list(value = token == "true", canonical = token))
    if (token == "null") return(list(value = NULL, canonical = token))
    list(value = as.numeric(token), canonical = shortest(token))
  }
  members <- function(end, named) {
    depth <<- depth + 1
    values <- list()
    texts <- names <- character()
    repeat {
      at <<- at + 1
      if (tokens[at] == end) break
      if (tokens[at] == ",") next
      if (named) {
        name <- unescaped(tokens[at])
        at <<- at + 1
      } else {
        at <<- at - 1
      }
      found <- value()
      values <- c(values, list(found$value))
      texts <- c(texts, found$canonical)
      if (named) names <- c(names, name)
    }
    depth <<- depth - 1
    if (!named) return(list(value = values, canonical = paste0("[", paste(texts, collapse = ","), "]")))
    kept <- which(depth > 0 | names != "sha256")
    kept <- kept[order(vapply(names[kept], utf16, ""), method = "radix")]
    inside <- paste0(vapply(names[kept], escaped, ""), ":", texts[kept])
    names(values) <- names
    list(value = values, canonical = paste0("{", paste(inside[seq_along(kept)], collapse = ","), "}"))
  }
  value()
}

# A number's own digits in the layout of ECMAScript.
shortest <- function(token) {
  sign <- if (startsWith(token, "-")) "-" else ""
  halves <- strsplit(tolower(sub("^-", "", token)), "e", fixed = TRUE)[[1]]
  dot <- strsplit(halves[1], ".", fixed = TRUE)[[1]]
  digits <- paste0(dot[1], if (length(dot) > 1) dot[2] else "")
  point <- nchar(dot[1]) + if (length(halves) > 1) as.integer(halves[2]) else 0L
  lead <- nchar(digits) - nchar(sub("^0+", "", digits))
  digits <- sub("0+$", "", substr(digits, lead + 1, nchar(digits)))
  point <- point - lead
  k <- nchar(digits)
  if (k == 0) return("0")
  if (k <= point && point <= 21) return(paste0(sign, digits, strrep("0", point - k)))
  if (0 < point && point <= 21) {
    return(paste0(sign, substr(digits, 1, point), ".", substr(digits, point + 1, k)))
  }
  if (-6 < point && point <= 0) return(paste0(sign, "0.", strrep("0", -point), digits))
  rest <- if (k > 1) paste0(".", substr(digits, 2, k)) else ""
  paste0(sign, substr(digits, 1, 1), rest, "e", sprintf("%+d", as.integer(point - 1)))
}

unescaped <- function(token) {
  text <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  parts <- regmatches(text, gregexpr("\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+", text, perl = TRUE))[[1]]
  plain <- c(b = 8L, f = 12L, n = 10L, r = 13L, t = 9L)
  units <- unlist(lapply(parts, function(part) {
    if (startsWith(part, "\\u")) return(strtoi(substr(part, 3, 6), 16L))
    if (!startsWith(part, "\\")) return(utf8ToInt(part))
    letter <- substr(part, 2, 2)
    if (letter %in% names(plain)) plain[[letter]] else utf8ToInt(letter)
  }))
  # Pairs of surrogates are one character.
  high <- which(units >= 0xD800 & units < 0xDC00)
  units[high] <- 0x10000 + (units[high] - 0xD800) * 0x400 + units[high + 1] - 0xDC00
  if (length(high)) units <- units[-(high + 1)]
  intToUtf8(units)
}

escaped <- function(text) {
  short <- c("\\b", "\\t", "\\n", "\\f", "\\r")
  names(short) <- c(8, 9, 10, 12, 13)
  units <- utf8ToInt(text)
  shown <- vapply(units, function(unit) {
    key <- as.character(unit)
    if (key %in% names(short)) return(short[[key]])
    if (unit == 34) return('\\"')
    if (unit == 92) return("\\\\")
    if (unit < 32) return(sprintf("\\u%04x", as.integer(unit)))
    intToUtf8(unit)
  }, "")
  paste0('"', paste(shown, collapse = ""), '"')
}

# A text that sorts as the UTF-16 code units of a name do.
utf16 <- function(name) {
  units <- utf8ToInt(name)
  pairs <- ifelse(units < 0x10000, sprintf("%04x", as.integer(units)),
    sprintf("%04x%04x", as.integer(0xD800 + (units - 0x10000) %/% 0x400), as.integer(0xDC00 + (units - 0x10000) %% 0x400)))
  paste(pairs, collapse = "")
}

sha256 <- function(text) {
  bytes <- charToRaw(enc2utf8(text))
  if (exists("sha256sum", asNamespace("tools"))) return(unname(getExportedValue("tools", "sha256sum")(bytes = bytes)))
  if (requireNamespace("digest", quietly = TRUE)) return(digest::digest(bytes, "sha256", serialize = FALSE))
  stop("the digest needs R 4.5 or later, or the package digest", call. = FALSE)
}

matrix_of <- function(rows) do.call(rbind, lapply(rows, unlist))

# A data frame of synthetic rows: the columns of the release, and the class of each row, in the input's order.
draw_rows <- function(release, rows) {
  margins <- release$margins
  names <- release$mixture$classes
  part <- if (is.null(margins)) release$components
  if (is.null(part)) part <- c(release$mixture, list(owners = as.list(seq_along(names) - 1)))
  weights <- unlist(part$weights)
  spreads <- if (is.null(margins)) part$covariances else margins$correlations
  X <- matrix(0, rows, length(spreads[[1]]))
  drawn <- sample.int(length(weights), rows, replace = TRUE, prob = weights)
  for (c in unique(drawn)) {
    own <- which(drawn == c)
    z <- matrix(rnorm(length(own) * ncol(X)), length(own))
    # chol() has the upper factor: covariance = t(U) U.
    z <- z %*% chol(matrix_of(spreads[[c]]))
    if (is.null(margins)) {
      z <- sweep(z, 2, unlist(part$means[[c]]), "+")
    } else {
      for (j in seq_len(ncol(z))) {
        z[, j] <- approx(unlist(margins$scores), unlist(margins$quantiles[[c]][[j]]), z[, j], rule = 2)$y
      }
    }
    X[own, ] <- z
  }
  for (step in rev(release$preprocessing)) {
    if (step$kind == "log") {
      X <- exp(X) - (if (is.null(step$offset)) 0 else step$offset)
    } else if (step$kind == "standardise") {
      X <- sweep(sweep(X, 2, unlist(step$scale), "*"), 2, unlist(step$mean), "+")
    } else if (step$kind == "pca") {
      X <- sweep(X %*% matrix_of(step$components), 2, unlist(step$mean), "+")
    } else {
      stop("a step of kind '", step$kind, "' is not known to this reader", call. = FALSE)
    }
  }
  classes <- vapply(names, function(name) if (is.character(name)) name else format(name, digits = 15), "")
  out <- c(cells(release, X), list(classes[unlist(part$owners)[drawn] + 1]))
  names(out) <- c(unlist(release$features), release$label)
  data.frame(out[unlist(release$order)], check.names = FALSE)
}

# Rows of the model as columns as stated: whole, rounded, inside their ranges; levels; NA where missing.
cells <- function(release, X) {
  own <- release$encoding$levels
  widths <- vapply(seq_along(release$columns), function(j) {
    column <- release$columns[[j]]
    if (column$type == "category") length(own[[j]]) else 1L + isTRUE(column$missing)
  }, 1L)
  # Behind the numbers of all columns stand the choices among levels without a number of their own.
  choice <- sum(widths)
  lapply(seq_along(release$columns), function(j) {
    column <- release$columns[[j]]
    at <- sum(widths[seq_len(j - 1)])
    if (column$type != "category") {
      x <- obeyed(column, X[, at + 1])
      if (isTRUE(column$missing)) x[X[, at + 2] > 0.5] <- NA
      return(x)
    }
    taken <- as.integer(unlist(own[[j]]))
    rest <- setdiff(seq_len(length(column$levels) + isTRUE(column$missing)) - 1L, taken)
    level <- rep(rest[1], nrow(X))
    if (length(rest) > 1) {
      choice <<- choice + 1
      level <- rest[pmin(pmax(round(X[, choice]), 0), length(rest) - 1) + 1]
    }
    for (i in rev(seq_along(taken))) level[X[, at + i] > 0.5] <- taken[i] # the first level that is on counts
    unlist(column$levels)[level + 1]
  })
}

# Numbers as stated of their column.
obeyed <- function(column, x) {
  lo <- if (is.null(column$lo)) -Inf else column$lo
  hi <- if (is.null(column$hi)) Inf else column$hi
  if (column$type == "integer" || !is.null(column$decimals)) {
    places <- if (is.null(column$decimals)) 0 else column$decimals
    x <- round(x, places)
    unit <- 10^places
    ends <- c(ceiling(lo * unit - 1e-9) / unit, floor(hi * unit + 1e-9) / unit)
    if (ends[1] <= ends[2]) {
      lo <- ends[1]
      hi <- ends[2]
    }
  }
  pmin(pmax(x, lo), hi)
}

if (sys.nframe() == 0) {
  arguments <- commandArgs(trailingOnly = TRUE)
  tryCatch({
    release <- load_release(arguments[1])
    if (length(arguments) > 2) set.seed(as.integer(arguments[3]))
    write.csv(draw_rows(release, as.integer(arguments[2])), row.names = FALSE, na = "", fileEncoding = "UTF-8")
  }, error = function(problem) {
    message(conditionMessage(problem))
    quit(status = 1)
  })
}
