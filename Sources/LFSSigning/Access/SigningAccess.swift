/// Who may do what.
///
/// The object's name in the store does not depend on who asks. Its key begins with the random namespace of the database
/// that has made it.
public struct SigningAccess: Sendable {
    /// What a caller is about to do.
    public struct Question: Hashable, Sendable {
        /// The kind of operation.
        public enum Verb: String, Hashable, Sendable {
            /// To fetch or to describe an object.
            case read
            /// To make one, or to go on with making one.
            case write
            /// To remove one.
            case delete
            /// To list a namespace.
            case list
        }

        /// Who asks, as the app's server has named it.
        public let caller: String
        /// What for.
        public let verb: Verb
        /// The first segment of the key.
        public let namespace: String
        /// The object's key; nil for a listing.
        public let key: String?
    }

    /// Answers a ``Question``. An error refuses the request and is logged.
    public typealias Rule = @Sendable (Question) async throws -> Bool

    /// Answers a ``Question`` with the name of who lends a right of its own; nil for nobody. An error refuses the
    /// request and is logged.
    public typealias Lender = @Sendable (Question) async throws -> String?

    /// Whether the first who writes below a namespace owns it.
    let claimsNamespaces: Bool
    var rule: Rule?
    var lender: Lender?

    /// The first who writes below a namespace owns it and may do everything there. Nobody else may do anything.
    ///
    /// The store notes the owner under `claims/<namespace>`, which is made only if it is not there. It needs a store
    /// where of several who do that at the same time one wins.
    public static let claimedNamespaces = SigningAccess(claimsNamespaces: true, rule: nil)

    /// As ``claimedNamespaces``, and others may do what the rule allows: with records that are shared, for example.
    public static func claimedNamespaces(sharing rule: @escaping Rule) -> SigningAccess {
        SigningAccess(claimsNamespaces: true, rule: rule)
    }

    /// As ``claimedNamespaces``, and others may do what its owner lends them by the lender's word: with rows that are
    /// shared, for example. Whom it names has to own the namespace in the store: nobody lends what is another's.
    public static func claimedNamespaces(lending lender: @escaping Lender) -> SigningAccess {
        SigningAccess(claimsNamespaces: true, lender: lender)
    }

    /// What the rule allows, and nothing is claimed.
    public static func rule(_ rule: @escaping Rule) -> SigningAccess {
        SigningAccess(claimsNamespaces: false, rule: rule)
    }
}
