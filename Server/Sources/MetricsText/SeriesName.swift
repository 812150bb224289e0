/// The identity of a series: its name, kind and labels, in the form of the format.
struct SeriesName: Hashable, Comparable, Sendable {
    /// The kind of a series, which defines how values are combined.
    enum Kind: String, Sendable {
        case counter, gauge, summary
    }

    let name: String
    let kind: Kind
    /// The labels such as `{storage="s3",outcome="success"}`, or an empty text.
    let labels: String

    /// - Parameter unit: the conventional suffix of the kind.
    init(_ label: String, kind: Kind, unit: String, dimensions: [(String, String)]) {
        let name = Self.identifier(label)
        self.name = name.hasSuffix(unit) ? name : name + unit
        self.kind = kind
        let pairs = dimensions.map { "\(Self.identifier($0.0))=\"\(Self.escaped($0.1))\"" }
        labels = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    static func < (left: SeriesName, right: SeriesName) -> Bool {
        (left.name, left.kind.rawValue, left.labels) < (right.name, right.kind.rawValue, right.labels)
    }

    /// Returns an identifier of letters, digits and underscores that does not start with a digit.
    private static func identifier(_ text: String) -> String {
        let bytes = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        let name = String(decoding: bytes, as: UTF8.self)
        return name.first?.isNumber == false ? name : "_" + name
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(scalar)
            }
        }.joined()
    }
}
