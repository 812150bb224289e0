/// The power supply of the device.
enum PowerSupply {
    private static let folder = "sys/class/power_supply"

    /// Returns mains if a supply of the device is online, if its battery is charging or full, or if it has no battery.
    /// Ignores the batteries of peripherals such as mice and headsets.
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
