import LFSStorage
import LFSWire

/// A check of whether a caller may perform an operation, made at the moment of the operation.
struct AccessCheck: Sendable {
    enum Verdict: Sendable {
        case allowed
        /// No caller has written below the namespace yet, so it is empty.
        case nothingThere
    }

    let access: SigningAccess
    let claims: NamespaceClaims

    /// Checks the right of a caller.
    ///
    /// - Parameter key: the object's key, or nil for a listing.
    /// - Throws: ``WireFailure/Code/forbidden``, whether the object exists or not, and errors of the store and of the
    ///   rule.
    func check(
        _ caller: String, verb: SigningAccess.Question.Verb, namespace: String, key: ObjectKey?
    ) async throws -> Verdict {
        guard namespace != NamespaceClaims.folder else { throw Self.forbidden }
        if access.claimsNamespaces {
            let isOwner =
                verb == .write
                ? try await claims.claim(namespace, for: caller) as Bool?
                : try await claims.isOwner(caller, of: namespace)
            switch isOwner {
            case nil: return .nothingThere
            case true?: return .allowed
            case false?: break
            }
        }
        let question = SigningAccess.Question(caller: caller, verb: verb, namespace: namespace, key: key?.rawValue)
        if let rule = access.rule, try await rule(question) { return .allowed }
        if let lender = try await access.lender?(question), try await claims.isOwner(lender, of: namespace) == true {
            return .allowed
        }
        throw Self.forbidden
    }

    static var forbidden: WireFailure { WireFailure(.forbidden, message: "This caller does not have permission.") }
}
