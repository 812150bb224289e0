/// A place with values outside the database, which a removal of all values has to clear.
///
/// Each place is cleared independently. A router without a key chain finishes the removal of files, and leaves the
/// secrets to a router that has one.
enum ResetPlace: Sendable, CaseIterable {
    case files, keychain
    /// The memory of a router. Each router has its own.
    case memory
}
