/// The rules that decide what each caller may do.
///
/// An object's name in the store does not depend on the caller. Its key begins with the random namespace of the
/// database that created it.
public struct SigningAccess: Sendable {
    /// An operation that a caller is about to perform.
    public struct Question: Hashable, Sendable {
        /// The kind of operation.
        public enum Verb: String, Hashable, Sendable {
            /// Downloads or describes an object.
            case read
            /// Creates an object, or continues to create it.
            case write
            /// Deletes an object.
            case delete
            /// Lists a namespace.
            case list
        }

        /// The caller, as the app's server identifies them.
        public let caller: String
        /// The kind of operation.
        public let verb: Verb
        /// The first segment of the key.
        public let namespace: String
        /// The object's key, or nil for a listing.
        public let key: String?
    }

    /// Decides a ``Question``. An error refuses the request and is logged.
    public typealias Rule = @Sendable (Question) async throws -> Bool

    /// Answers a ``Question`` with the name of a caller who lends their own right, or nil if no caller does. An error
    /// refuses the request and is logged.
    public typealias Lender = @Sendable (Question) async throws -> String?

    /// True if the first caller who writes below a namespace owns it.
    let claimsNamespaces: Bool
    var rule: Rule?
    var lender: Lender?

    /// Access in which the first caller who writes below a namespace owns it and may do everything there. Other callers
    /// have no rights.
    ///
    /// The store records the owner under `claims/<namespace>`, an object that is created only if it does not exist. The
    /// store must let exactly one of several concurrent creators succeed.
    public static let claimedNamespaces = SigningAccess(claimsNamespaces: true, rule: nil)

    /// Returns access like ``claimedNamespaces`` in which other callers may do what a rule allows, for example with
    /// shared records.
    public static func claimedNamespaces(sharing rule: @escaping Rule) -> SigningAccess {
        SigningAccess(claimsNamespaces: true, rule: rule)
    }

    /// Returns access like ``claimedNamespaces`` in which other callers may do what an owner lends them, for example
    /// with shared rows. The caller that the lender names must own the namespace in the store. A caller cannot lend the
    /// rights of another one.
    public static func claimedNamespaces(lending lender: @escaping Lender) -> SigningAccess {
        SigningAccess(claimsNamespaces: true, lender: lender)
    }

    /// Returns access in which callers may do what a rule allows. Namespaces have no owners.
    public static func rule(_ rule: @escaping Rule) -> SigningAccess {
        SigningAccess(claimsNamespaces: false, rule: rule)
    }
}
