import LFSStorage
import LFSWire

/// Decides whether a caller may do something, at the moment at which it is done.
struct AccessCheck: Sendable {
    enum Verdict: Sendable {
        case allowed
        /// Nobody has written below the namespace yet: there is nothing.
        case nothingThere
    }

    let access: SigningAccess
    let claims: NamespaceClaims

    /// - Parameter prefix: the beginning of the keys, for a listing; else the key itself.
    /// - Throws: ``WireFailure/Code/forbidden``, the same whether there is something or not; what the store or the rule
    ///   throws.
    func check(
        _ caller: String, _ verb: SigningAccess.Question.Verb, _ namespace: String, _ key: ObjectKey?
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

    static var forbidden: WireFailure { WireFailure(.forbidden, "This caller has no right to that.") }
}
