import Foundation
public import Hummingbird
import JWTKit
public import LFSServer
public import Logging

/// Knows users by signed tokens of the host's identity provider (JWT, RFC 7519): of its issuer, for this audience,
/// within their time, and signed by one of its keys.
///
/// Owner of the keys: the actor.
public actor JWTAuthentication: Authenticator {
    private let options: JWTAuthenticationOptions
    private let logger: Logger
    private let interval: Duration
    private var data: Data
    private var keys: JWTKeyCollection?
    private let list: [JWK]
    private var looked = ContinuousClock.now

    /// - Parameters:
    ///   - options: which tokens count.
    ///   - logger: is told of a file of keys that cannot be read any more. What it said last stays in effect then.
    ///   - interval: how long what was read counts.
    /// - Throws: what is wrong with the file of keys, in words for whoever runs the server.
    public init(_ options: JWTAuthenticationOptions, logger: Logger, interval: Duration = .seconds(10)) throws {
        (self.options, self.logger, self.interval) = (options, logger, interval)
        let file = try KeyFile(path: options.keys)
        (data, list) = (file.data, file.keys)
    }

    /// The account of a request's bearer token; nil for one that does not count.
    public func name(of request: Request) async throws -> String? {
        guard let token = BearerToken.text(of: request) else { return nil }
        return try await name(ofToken: token)
    }

    func name(ofToken token: String) async throws -> String? {
        let keys = try await current()
        do {
            let claims = try await keys.verify(token, as: Claims.self)
            return claims.account(options)
        } catch {
            // Why is nobody's business but the provider's.
            return nil
        }
    }

    private func current() async throws -> JWTKeyCollection {
        if looked.duration(to: .now) >= interval {
            looked = .now
            do {
                let file = try KeyFile(path: options.keys)
                if file.data != data { (data, keys) = (file.data, try await Self.collection(file.keys, logger)) }
            } catch {
                logger.error(
                    "The file of keys cannot be read: those of before count.", metadata: ["error": "\(error)"])
            }
        }
        if let keys { return keys }
        let made = try await Self.collection(list, logger)
        keys = made
        return made
    }

    /// - Throws: `KeyFile.Failure` when none of the keys is one.
    private static func collection(_ list: [JWK], _ logger: Logger) async throws -> JWTKeyCollection {
        let made = JWTKeyCollection()
        var count = 0
        for key in list {
            do {
                // Without a default: a token names its key.
                try await made.add(jwk: key, isDefault: false)
                count += 1
            } catch {
                logger.error(
                    "A key of the identity provider cannot be used, and is passed over.",
                    metadata: ["key": "\(key.keyIdentifier?.string ?? "")", "error": "\(error)"])
            }
        }
        guard count > 0 else { throw KeyFile.Failure(description: "None of the provider's keys can be used.") }
        return made
    }
}
