/** A value is not of its type, or what is owned of it cannot be written. The message has upstream's form: one error, or `errors:` and one a line. */
export class TypeMismatch extends Error {}
