import Foundation
import JWTKit

/// A file of public keys, JSON Web Key Set. Keys that cannot be used here are passed over (RFC 7517, 5): the provider
/// may have them for others.
struct KeyFile {
    /// What is wrong with the file, and how to mend it.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let keys: [JWK]
    let data: Data

    private static let sizeLimit = 1 << 20

    /// - Throws: ``Failure``.
    init(path: String) throws {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.sizeLimit else {
            throw Failure(description: "The file of keys \(path) cannot be read, or has more than a mebibyte.")
        }
        self.data = data
        guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let all = object["keys"] as? [[String: Any]]
        else {
            throw Failure(description: "\(path) is no JSON Web Key Set: {\"keys\":[…]} of the identity provider.")
        }
        var keys: [JWK] = []
        for fields in all where fields["use"] as? String != "enc" {
            if let key = try Self.key(fields, path) { keys.append(key) }
        }
        guard !keys.isEmpty else {
            throw Failure(
                description: "\(path) has no key that can be used: each needs 'kid', and is RSA, EC or OKP to sign.")
        }
        self.keys = keys
    }

    /// - Returns: nil for one that cannot be used.
    /// - Throws: ``Failure`` for one that is secret.
    private static func key(_ fields: [String: Any], _ path: String) throws -> JWK? {
        var fields = fields
        guard fields["d"] == nil, fields["kty"] as? String != "oct" else {
            // Whoever can check with it could also sign.
            throw Failure(description: "\(path) has a key that is secret: write the provider's public ones only.")
        }
        // A token must not choose: what a key does not say is the usual of its kind.
        if fields["alg"] == nil {
            fields["alg"] = usual(fields["kty"] as? String, fields["crv"] as? String)
        }
        let parts = ["RSA": ["n", "e"], "EC": ["x", "y"], "OKP": ["x"]][fields["kty"] as? String ?? ""]
        guard let name = fields["kid"] as? String, !name.isEmpty, fields["alg"] != nil,
            let parts, parts.allSatisfy({ (fields[$0] as? String)?.isEmpty == false }),
            let data = try? JSONSerialization.data(withJSONObject: fields),
            let key = try? JSONDecoder().decode(JWK.self, from: data)
        else { return nil }
        return key
    }

    private static func usual(_ kind: String?, _ curve: String?) -> String? {
        switch (kind, curve) {
        case ("RSA", _): "RS256"
        case ("EC", "P-256"): "ES256"
        case ("EC", "P-384"): "ES384"
        case ("EC", "P-521"): "ES512"
        case ("OKP", "Ed25519"): "EdDSA"
        default: nil
        }
    }
}
