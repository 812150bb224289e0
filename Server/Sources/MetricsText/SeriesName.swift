/// What a series is called: its name, its kind and its labels, all as the format takes them.
struct SeriesName: Hashable, Comparable, Sendable {
    /// What is done with the numbers.
    enum Kind: String, Sendable {
        case counter, gauge, summary
    }

    let name: String
    let kind: Kind
    /// `{storage="s3",outcome="success"}`, or nothing.
    let labels: String

    /// - Parameter unit: the ending that the kind has by convention.
    init(_ label: String, _ kind: Kind, unit: String, _ dimensions: [(String, String)]) {
        let name = Self.identifier(label)
        self.name = name.hasSuffix(unit) ? name : name + unit
        self.kind = kind
        let pairs = dimensions.map { "\(Self.identifier($0.0))=\"\(Self.escaped($0.1))\"" }
        labels = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    static func < (left: SeriesName, right: SeriesName) -> Bool {
        (left.name, left.kind.rawValue, left.labels) < (right.name, right.kind.rawValue, right.labels)
    }

    /// Letters, digits and underscores, and no digit first.
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
