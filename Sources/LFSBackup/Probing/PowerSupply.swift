/// Where the power comes from.
enum PowerSupply {
    private static let folder = "sys/class/power_supply"

    /// The mains where one supply of the device is online or its battery is charged, and where it has no battery. The
    /// batteries of mice and headsets are none of its own.
    static func power(_ root: SystemRoot) throws -> DeviceState.Power {
        var hasBattery = false
        for name in try root.names(folder) {
            let place = "\(folder)/\(name)"
            if try root.line("\(place)/scope") == "Device" { continue }
            switch try root.line("\(place)/type") {
            case "Battery":
                hasBattery = true
                if let status = try root.line("\(place)/status"), ["Charging", "Full"].contains(status) {
                    return .mains
                }
            case "UPS", nil: break
            default: if try root.line("\(place)/online") == "1" { return .mains }
            }
        }
        return hasBattery ? .battery : .mains
    }
}
