/// Where values are beside the database, for a removal of everything.
///
/// Each place is cleared for itself: a router without a key chain ends what is to be done in files, and leaves the
/// secrets to one that has it.
enum ResetPlace: Sendable, CaseIterable {
    case files, keychain
    /// Each router has its own.
    case memory
}
