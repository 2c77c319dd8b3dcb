-- SPDX-License-Identifier: MIT
-- As chain.c.
local sink = 0
local function inner() for i = 0, 1000000 do sink = (sink + i) % 1000 end end
local function middle(finish) while os.clock() < finish do inner() end end
local function outer(seconds) middle(os.clock() + seconds) end
outer(tonumber(arg[1]))
