import Foundation
import JWTKit

/// A file of public keys (JSON Web Key Set). Keys that this server cannot use are skipped, because the provider may
/// publish them for others (RFC 7517, section 5).
struct KeyFile {
    /// An error of the file, with a message that explains the fix.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let keys: [JWK]
    let data: Data

    private static let sizeLimit = 1 << 20

    /// - Throws: ``Failure``.
    init(path: String) throws {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.sizeLimit else {
            throw Failure(description: "The file of keys \(path) cannot be read, or has more than 1 MiB.")
        }
        self.data = data
        guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let all = object["keys"] as? [[String: Any]]
        else {
            throw Failure(description: "\(path) is not a JSON Web Key Set of the identity provider: {\"keys\":[…]}.")
        }
        var keys: [JWK] = []
        for fields in all where fields["use"] as? String != "enc" {
            if let key = try Self.key(fields, path: path) { keys.append(key) }
        }
        guard !keys.isEmpty else {
            throw Failure(
                description: "\(path) has no usable key. Each needs 'kid', and is an RSA, EC or OKP key for signing.")
        }
        self.keys = keys
    }

    /// - Returns: the key, or nil if it cannot be used.
    /// - Throws: ``Failure`` for a private or symmetric key.
    private static func key(_ fields: [String: Any], path: String) throws -> JWK? {
        var fields = fields
        guard fields["d"] == nil, fields["kty"] as? String != "oct" else {
            // A server with such a key could sign tokens itself.
            throw Failure(description: "\(path) contains a secret key. Write only the provider's public keys.")
        }
        // A token must not choose the algorithm. A key without `alg` gets the usual algorithm of its type.
        if fields["alg"] == nil {
            fields["alg"] = usual(fields["kty"] as? String, curve: fields["crv"] as? String)
        }
        let parts = ["RSA": ["n", "e"], "EC": ["x", "y"], "OKP": ["x"]][fields["kty"] as? String ?? ""]
        guard let name = fields["kid"] as? String, !name.isEmpty, fields["alg"] != nil,
            let parts, parts.allSatisfy({ (fields[$0] as? String)?.isEmpty == false }),
            let data = try? JSONSerialization.data(withJSONObject: fields),
            let key = try? JSONDecoder().decode(JWK.self, from: data)
        else { return nil }
        return key
    }

    private static func usual(_ kind: String?, curve: String?) -> String? {
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
